// Hazards race-raw, race-war, race-waw, host-race, fill-race: two accesses of overlapping bytes, at
// least one a write, with no happens-before path.

#include <algorithm>

#include "src/detect/checker.h"

namespace ss {
namespace {

// One code a pair of operations. Rule: fill before host before data races; raw if the first's write
// meets a read, else waw, else war; an atomic is a write.
const char* CodeOf(const Entry& first, const Entry& second) {
  if (first.fill || second.fill) return "fill-race";
  if (first.cpu || second.cpu) return "host-race";
  bool first_writes = first.mode & (kWrite | kAtomic);
  bool second_writes = second.mode & (kWrite | kAtomic);
  if (first_writes && (second.mode & kRead)) return "race-raw";
  return first_writes && second_writes ? "race-waw" : "race-war";
}

// Per buffer; the oldest go first. A buffer with more findings than this reports some of them
// again.
constexpr size_t kMaxEdges = 64;

uint8_t Weakest(uint8_t a, uint8_t b) {
  return std::max(a & 0xf, b & 0xf) | std::max(a >> 4, b >> 4) << 4;
}

}  // namespace

bool Checker::WeaklyEvidenced(const Entry& first, const Entry& second) const {
  if (!first.ProvenDirection() || !second.ProvenDirection()) return true;
  const bool assumed_first = !first.KnownExtent(), assumed_second = !second.KnownExtent();
  if (!assumed_first && !assumed_second) return false;
  // "From here to the end of the block" is certain to overlap only where both begin at the same
  // byte or the other one's extent is known and holds the byte that this one begins with.
  bool same_begin = first.begin == second.begin;
  bool known_holds = (!assumed_first && HasBytes(first, second.begin, second.begin + 1)) ||
                     (!assumed_second && HasBytes(second, first.begin, first.begin + 1));
  return !same_begin && !known_holds;
}

// Does the first one end before the step starts, only because no kernel between them lets its
// dependents start early (rule 13)?
bool NeedsTrigger(const Step& step, const Entry& first) {
  return step.ended != nullptr && step.ended->Get(first.lane) >= first.epoch;
}

Confidence Checker::ConfidenceOf(const Entry& first, const Entry& second, const Op& a,
                                 const Op& b) const {
  if ((a.flags | b.flags) & (kAmbiguousOrder | kPolling)) return Confidence::kPossible;
  if (WeaklyEvidenced(first, second)) return Confidence::kPossible;
  auto direction = [](const Entry& entry) { return static_cast<Evidence>(entry.evidence & 0xf); };
  auto extent = [](const Entry& entry) { return static_cast<Evidence>(entry.evidence >> 4); };
  bool schema = std::max(direction(first), direction(second)) == Evidence::kSchema;
  bool known = first.KnownExtent() && second.KnownExtent();
  // The code says which bytes at most; whether this launch gets to the instruction it does not.
  bool at_most = extent(first) == Evidence::kStatic || extent(second) == Evidence::kStatic;
  return schema || at_most || !known ? Confidence::kLikely : Confidence::kCertain;
}

void Checker::JudgeConflicts(const Op& op, size_t index, const Step& step) {
  std::vector<Conflict> conflicts;
  conflicts.swap(conflicts_);
  // By buffer; within a buffer the latest first operation first: its edge settles the earlier ones.
  std::stable_sort(conflicts.begin(), conflicts.end(), [](const Conflict& a, const Conflict& b) {
    if (a.tenant != b.tenant) return a.tenant->alloc_index < b.tenant->alloc_index;
    if (a.first.index != b.first.index) return a.first.index > b.first.index;
    return a.first.apart < b.first.apart;
  });
  for (size_t from = 0, to; from < conflicts.size(); from = to) {
    to = from + 1;
    while (to < conflicts.size() && conflicts[to].tenant == conflicts[from].tenant) ++to;
    JudgeTenant(op, index, step, conflicts, from, to);
  }
  for (auto& [tenant, edge] : edges_of_storage_) AddEdge(*tenant, std::move(edge));
  edges_of_storage_.clear();
}

// What the operation starts after if the edges that findings on this buffer miss were there.
Clock Checker::KnownTo(const Step& step, const Tenant& tenant) const {
  Clock known = *step.start;
  if (step.in_order != 0) known.Raise(step.lane, step.write_epoch);
  for (const ConditionalEdge& edge : tenant.edges) {
    if (step.stream != nullptr && edge.into == step.stream) known.Join(edge.source);
  }
  order_.Expand(&known, tenant.edges, false);
  return known;
}

// A block that is split into many and joined again gets each of them back many times.
void Checker::AddEdge(Tenant& tenant, ConditionalEdge edge) {
  const bool known =
      std::any_of(tenant.edges.begin(), tenant.edges.end(), [&](const ConditionalEdge& other) {
        return other.lane == edge.lane && other.epoch == edge.epoch && other.into == edge.into &&
               other.source == edge.source;
      });
  if (known) return;
  if (tenant.edges.size() >= kMaxEdges) tenant.edges.erase(tenant.edges.begin());
  tenant.edges.push_back(std::move(edge));
}

// Of a block that is freed, to those that have parts of its storage by now, too; but each is judged
// as if it were the only one that this operation uses.
void Checker::AddEdges(Tenant& tenant, ConditionalEdge edge) {
  if (tenant.freed) {
    std::vector<Tenant*> newer;
    shadow_.ForEach(tenant.begin, tenant.end, [&](uint64_t, Cell& cell) {
      const bool other = cell.tenant != nullptr && cell.tenant != &tenant;
      if (other && std::find(newer.begin(), newer.end(), cell.tenant) == newer.end()) {
        newer.push_back(cell.tenant);
      }
    });
    for (Tenant* one : newer) edges_of_storage_.emplace_back(one, edge);
  }
  AddEdge(tenant, std::move(edge));
}

// Beside its stream's lane (rules 9, 13) or its predecessor in a batch: what the first one's stream
// has queued now includes this.
void Checker::LimitToBefore(const Step& step, Clock* source) {
  if (step.copy != nullptr) source->Limit(step.copy->lane, step.copy->epoch - 1);
  const bool beside = step.stream != nullptr && step.lane != step.stream->lane;
  if (beside || step.in_order == 0) source->Limit(step.lane, step.epoch - 1);
}

void Checker::JudgeTenant(const Op& op, size_t index, const Step& step,
                          std::vector<Conflict>& conflicts, size_t from, size_t to) {
  Tenant& tenant = *conflicts[from].tenant;
  Clock known = KnownTo(step, tenant);
  for (size_t i = from, next; i < to; i = next) {
    Conflict merged = conflicts[i];
    for (next = i + 1; next < to && conflicts[next].first.OneWith(merged.first); ++next) {
      merged.first.mode |= conflicts[next].first.mode;
      merged.second.mode |= conflicts[next].second.mode;
      merged.first.evidence = Weakest(merged.first.evidence, conflicts[next].first.evidence);
      merged.second.evidence = Weakest(merged.second.evidence, conflicts[next].second.evidence);
      merged.begin = std::min(merged.begin, conflicts[next].begin);
      merged.end = std::max(merged.end, conflicts[next].end);
    }
    bool settled = known.Get(merged.first.lane) >= merged.first.epoch;
    if (settled) {
      if (options_.keep_absorbed) ReportRace(op, index, step, merged, true);
      continue;
    }
    Clock incidentally = known;
    order_.Expand(&incidentally, tenant.edges, true);
    if (incidentally.Get(merged.first.lane) >= merged.first.epoch) {
      AdviseImplicitSync(tenant, op, index, "the accesses are ordered");
      found_on_.push_back(&tenant);
      KeepEntry(merged);
      continue;
    }
    ReportRace(op, index, step, merged, false);
    const bool weak = WeaklyEvidenced(merged.first, merged.second);
    if (options_.every_pair || weak || NeedsTrigger(step, merged.first)) continue;
    Clock source = order_.Frontier(merged.first.lane);
    LimitToBefore(step, &source);
    order_.Expand(&source, tenant.edges, false);
    known.Join(source);
    if (step.started_lane != 0) {
      AddEdges(tenant, {source, step.started_lane, step.started_epoch, nullptr});
    }
    // Within one stream (rule 13) the missing edge is that kernel's own wait, not one of its
    // stream.
    bool of_stream = order_.lanes()[merged.first.lane].stream != step.stream;
    // One of the stream is a wait before all of the batch: whoever knows its first copy has it.
    const bool batch = of_stream && step.stream != nullptr && step.in_order == 0;
    const uint64_t epoch = batch ? step.start->Get(step.lane) + 1 : step.epoch;
    AddEdges(tenant, {std::move(source), step.lane, epoch, of_stream ? step.stream : nullptr});
  }
}

// An incidental order does not let the second access stand for the first: both stay to be judged.
void Checker::KeepEntry(const Conflict& conflict) {
  shadow_.ForEach(conflict.begin, conflict.end, [&](uint64_t, Cell& cell) {
    bool there = cell.tenant != conflict.tenant || cell.write.index == conflict.first.index;
    cell.ForEachSince([&](const Entry& entry) { there |= entry.index == conflict.first.index; });
    if (there) return;
    auto same = [&](const Entry& entry) { return entry.index == conflict.first.index; };
    const bool past = cell.past && std::erase_if(*cell.past, same) != 0;
    if (past) {  // beside what stands there, not in its place
      if (!cell.more) cell.more = std::make_unique<std::vector<Entry>>();
      cell.more->push_back(conflict.first);
    } else {
      cell.AddSince(conflict.first);
    }
  });
}

void Checker::ReportRace(const Op& op, size_t index, const Step& step, const Conflict& merged,
                         bool absorbed) {
  Tenant& tenant = *merged.tenant;
  if (!absorbed) found_on_.push_back(&tenant);
  if (tenant.is_private) {
    muted_private_ += !absorbed;
    return;
  }
  const Op& first = log_.Get(merged.first.index);
  Finding finding;
  finding.code = CodeOf(merged.first, merged.second);
  finding.absorbed = absorbed;
  finding.confidence = ConfidenceOf(merged.first, merged.second, first, op);
  if (NeedsTrigger(step, merged.first)) finding.confidence = Confidence::kPossible;
  const uint64_t end = EndOf(merged.first, merged.second, merged.end);
  finding.buffer = MakeBuffer(tenant, merged.begin, end);
  finding.first = MakeSite(merged.first, tenant);
  finding.second = MakeSite(merged.second, tenant);
  finding.edge_from = finding.first.lane;
  finding.edge_to = finding.second.lane;
  finding.instances.push_back({merged.first.index, index});
  AddFinding(std::move(finding), first, op, tenant);
}

}  // namespace ss
