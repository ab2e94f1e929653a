#include "src/detect/checker.h"

#include <algorithm>

#include "src/model/rules.h"

namespace ss {
namespace {

// Sweeping visits all live state, so it is worth it only after much has been fed; but what waits
// for it makes the clocks long and fills the caches.
constexpr size_t kSweepEvery = size_t{1} << 15;
// Freed memory that nobody used after is watched for late uses this long, counted in operations.
constexpr size_t kWatchFreed = size_t{1} << 18;
// Readers of one cell, beyond the first, before those that later ones make superfluous go.
constexpr size_t kManyReaders = 8;

Entry MakeEntry(const Op& op, size_t index, const Step& step, const Access& access) {
  Entry entry;
  bool writes = access.mode & (kWrite | kAtomic);
  entry.epoch = op.kind == OpKind::kCopy && writes ? step.write_epoch : step.epoch;
  bool staged = op.kind == OpKind::kCopy && !writes && step.staging_lane != 0;  // or read apart
  if (staged) entry.epoch = step.staging_epoch;
  entry.index = index;
  entry.begin = access.begin;
  entry.end = access.end;
  entry.lane = staged ? step.staging_lane : step.lane;
  entry.mode = access.mode;
  entry.apart = step.copy != nullptr;
  bool host_fn = op.kind == OpKind::kHostFn && RuleOn(Rule::kHostFunctionCpu);
  entry.cpu = op.kind == OpKind::kHostAccess || host_fn;
  entry.fill = (op.flags & kFill) != 0;
  entry.evidence = static_cast<uint8_t>(access.direction) | static_cast<uint8_t>(access.extent)
                                                                << 4;
  entry.shape = access.shape;
  return entry;
}

bool Ignored(const Op& op) {
  if ((op.flags & kFill) && !RuleOn(Rule::kFillIsWrite)) return true;
  return op.kind == OpKind::kHostAccess && !RuleOn(Rule::kHostAccessChecked);
}

}  // namespace

Checker::Checker(const Program& program, const CheckOptions& options)
    : program_(program), options_(options), order_(options.strict), next_sweep_(kSweepEvery) {}

Checker::~Checker() = default;

// --- one operation
// --------------------------------------------------------------------------------

void Checker::CollectUsers(const Op& op, const Access* accesses) {
  users_.clear();
  if (order_.strict() || order_.host_count() < 2) return;
  if (op.kind == OpKind::kFree || op.kind == OpKind::kFreeAsync ||
      op.kind == OpKind::kRecordStream) {
    if (Tenant* tenant = FindTenant(op.object)) users_.push_back(&tenant->users);
    return;
  }
  if (op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync) return;
  for (uint32_t i = 0; i < op.access_count; ++i) {
    AddUsers(accesses[i]);
  }
}

// Nearly always one tenant has all of the bytes.
void Checker::AddUsers(const Access& access) {
  const Cell* cell = shadow_.Find(access.begin);
  if (cell == nullptr || cell->tenant == nullptr) return;
  users_.push_back(&cell->tenant->users);
  if (access.end <= cell->end || access.end <= cell->tenant->end) return;
  auto next = shadow_.cells().upper_bound(access.begin);
  for (; next != shadow_.cells().end() && next->first < access.end; ++next) {
    if (next->second.tenant != nullptr) users_.push_back(&next->second.tenant->users);
  }
}

void Checker::Feed(const Op& op, const Access* accesses) {
  size_t index = log_.Append(op);
  CollectUsers(op, accesses);
  if (op.kind == OpKind::kStreamDestroy) {
    if (const Stream* stream = order_.FindStream(op.stream, op.host)) running_.Drop(stream->lane);
  }
  Step step = order_.Apply(op, index, users_, accesses);
  if (op.kind == OpKind::kCollective && step.epoch != 0) collectives_.Add(op, index, step);
  running_.Note(step, index);
  switch (op.kind) {
    case OpKind::kAlloc:
      OnAlloc(op, index, accesses[0]);
      break;
    case OpKind::kFree:
      OnFree(op, index);
      break;
    case OpKind::kAllocAsync:
      OnAllocAsync(op, index, step, accesses[0]);
      break;
    case OpKind::kFreeAsync:
      OnFreeAsync(op, index, step);
      break;
    case OpKind::kRecordStream:
      OnRecordStream(op, index);
      break;
    case OpKind::kBufferName:
      OnBufferName(op, accesses[0]);
      break;
    case OpKind::kStreamWaitEvent:
    case OpKind::kEventSync:
    case OpKind::kEventQuery:
      AdviseOnWait(op, index);
      break;
    case OpKind::kKernel:
    case OpKind::kCopy:
    case OpKind::kMemset:
    case OpKind::kHostFn:
    case OpKind::kHostAccess:
    case OpKind::kCollective:
      if (step.epoch != 0 && !Ignored(op)) Touch(op, index, step, accesses);
      order_.Finish(op, step, accesses);
      break;
    case OpKind::kAwait:
      AdviseOnAwait(op, index);
      break;
    default:
      break;
  }
  if (log_.size() >= next_sweep_) Sweep();
}

// Reads before writes: an operation's own write would hide from its own read what was there before.
void Checker::Touch(const Op& op, size_t index, const Step& step, const Access* accesses) {
  if (step.source_start != nullptr) {
    const Step source = step.Source();
    TouchAll(op, index, source, accesses, false);
    JudgeTouched(op, index, source);
  } else {
    TouchAll(op, index, step, accesses, false);
  }
  TouchAll(op, index, step, accesses, true);
  JudgeTouched(op, index, step);
  found_on_.clear();
}

void Checker::TouchAll(const Op& op, size_t index, const Step& step, const Access* accesses,
                       bool writing) {
  for (uint32_t i = 0; i < op.access_count; ++i) {
    if (((accesses[i].mode & kWrite) != 0) == writing) TouchRange(op, index, step, accesses[i]);
  }
}

void Checker::JudgeTouched(const Op& op, size_t index, const Step& step) {
  if (!conflicts_.empty()) JudgeConflicts(op, index, step);
  if (!watched_.empty()) CheckWatched(op, index, step);
}

void Checker::TouchRange(const Op& op, size_t index, const Step& step, Access access) {
  if (!RuleOn(Rule::kByAddress)) access.end = access.begin + 1;
  if (!RuleOn(Rule::kGapsUntouched)) access.shape = 0;
  if (access.end <= access.begin) return;
  ++accesses_;
  Entry entry = MakeEntry(op, index, step, access);
  if (options_.beginnings_only && !entry.KnownExtent()) {
    beginnings_ += access.end != access.begin + 1;
    access.end = access.begin + 1;
  }
  size_t cells = 0;
  Tenant* tenant = nullptr;
  bool one_tenant = true;
  uint64_t gap = shadow_.ForEach(access.begin, access.end, [&](uint64_t begin, Cell& cell) {
    if (cells++ != 0 && cell.tenant != tenant) one_tenant = false;
    tenant = cell.tenant;
    TouchCell(begin, cell, entry, step);
  });
  if (gap != 0 && access.memory != MemoryKind::kPageable) ++untracked_;
  // A write over many cells leaves one history: this keeps ranges from fragmenting for ever.
  const bool alone = entry.Replaces() && order_.before() == nullptr;
  if (cells > 1 && gap == 0 && one_tenant && alone) {
    shadow_.Collapse(access.begin, access.end, tenant, entry);
  }
}

Touched Checker::BytesOf(const Entry& entry) const {
  return {entry.begin, entry.end, entry.shape == 0 ? nullptr : &program_.shapes.Get(entry.shape)};
}

bool Checker::HasBytes(const Entry& entry, uint64_t begin, uint64_t end) const {
  return Meet(BytesOf(entry), {begin, end}, begin, end) != Meeting::kApart;
}

void Checker::Collect(const Entry& first, const Entry& second, const Cell& cell, uint64_t begin) {
  Conflict conflict{first, second, cell.tenant, begin, cell.end};
  if (first.shape != 0 || second.shape != 0) {
    const Meeting meeting = Meet(BytesOf(first), BytesOf(second), begin, cell.end);
    if (meeting == Meeting::kApart) return;
    if (meeting == Meeting::kUnknown) {  // they begin at different bytes, so `possible`
      conflict.first.AssumeExtent();
      conflict.second.AssumeExtent();
    }
  }
  conflicts_.push_back(conflict);
}

void Checker::TouchCell(uint64_t begin, Cell& cell, const Entry& entry, const Step& step) {
  if (entry.shape != 0 && !HasBytes(entry, begin, cell.end)) return;  // all of the cell is a gap
  if (cell.tenant != nullptr &&
      (cell.tenant->watched || (cell.tenant->kind == MemoryKind::kPool &&
                                !step.Knows(cell.tenant->alloc_lane, cell.tenant->alloc_epoch)))) {
    watched_.push_back({cell.tenant, entry, begin, cell.end});
  }
  if (order_.before() != nullptr) return TouchCrossed(begin, cell, entry, step);
  const bool late = cell.tenant != nullptr && cell.tenant->freed;
  auto check = [&](const Entry& first) {
    if (late && first.index > cell.tenant->free_index) return;  // the free is what is wrong
    if (!Conflicts(first.mode, entry.mode) || step.Knows(first.lane, first.epoch)) return;
    if (first.index != entry.index) Collect(first, entry, cell, begin);  // a copy onto itself
  };
  if (cell.write) check(cell.write);
  cell.ForEachSince(check);
  auto replaced = [&](const Entry& older) {
    if (entry.shape == 0) return older.begin == entry.begin;
    return Covers(BytesOf(entry), BytesOf(older));
  };
  if (entry.Replaces()) {
    cell.write = entry;
    cell.ClearSince();
  } else if (entry.mode & kWrite) {
    forgotten_ += cell.AddWeakWrite(entry, replaced).for_room;
  } else {
    if (cell.more && cell.more->size() >= kManyReaders) DropSubsumed(cell, entry, step);
    forgotten_ += cell.AddSince(entry).for_room;
  }
}

// What is never written again would collect a reader for every stream that ever was. A reader that
// is ordered before this one, no better evidenced and of the same bytes can go: who does not know
// it does not know this one either, and who knows this one knows it.
void Checker::DropSubsumed(Cell& cell, const Entry& entry, const Step& step) {
  const auto& lanes = order_.lanes();
  if (log_.Get(entry.index).flags & (kAmbiguousOrder | kPolling)) return;
  cell.DropIf([&](const Entry& older) {
    if (older.mode != entry.mode || older.cpu != entry.cpu) return false;
    if (older.begin != entry.begin || older.end != entry.end) return false;
    if (older.shape != entry.shape) return false;
    bool weaker = (older.evidence & 0xf) >= (entry.evidence & 0xf) &&
                  older.evidence >> 4 >= entry.evidence >> 4;
    bool alike = lanes[older.lane].kind == lanes[entry.lane].kind;
    return weaker && alike && step.Knows(older.lane, older.epoch);
  });
}

// --- tenants
// --------------------------------------------------------------------------------------

Tenant* Checker::NewTenant(const Op& op, size_t index, const Access& range) {
  if (spare_tenants_.empty()) spare_tenants_.push_back(std::make_unique<Tenant>());
  Tenant* tenant = tenants_.emplace_back(std::move(spare_tenants_.back())).get();
  spare_tenants_.pop_back();
  *tenant = {};
  tenant->id = op.object;
  tenant->name = op.name;
  tenant->kind = range.memory;
  tenant->begin = range.begin;
  tenant->end = range.end;
  tenant->owner = op.stream;
  tenant->pool = op.aux;
  tenant->device = static_cast<uint32_t>(op.value & 0xffffffff);
  tenant->rank = static_cast<uint32_t>(op.value >> 32);
  tenant->is_private = op.flags & kPrivate;
  tenant->alloc = op;
  tenant->alloc_index = index;
  live_[op.object] = tenant;
  return tenant;
}

Tenant* Checker::FindTenant(BufferId id) {
  auto found = live_.find(id);
  return found == live_.end() ? nullptr : found->second;
}

// Forgets operations, tenants and lanes that no live state refers to.
void Checker::Sweep() {
  std::vector<size_t> ops;
  std::vector<bool> lanes(order_.lanes().size(), false);
  auto keep = [&](const Entry& entry) {
    ops.push_back(entry.index);
    lanes[entry.lane] = true;
  };
  for (const auto& tenant : tenants_) tenant->used = false;
  // Freed memory that nobody refers to: watching it for late uses for ever would grow without
  // bound.
  auto& cells = shadow_.cells();
  for (auto it = cells.begin(); it != cells.end();) {
    Cell& cell = it++->second;
    bool empty = !cell.write && !cell.since;
    bool old = cell.tenant->freed && cell.tenant->free_index + kWatchFreed < log_.size();
    if (empty && old) shadow_.Erase(std::prev(it)->first, cell.end);
  }
  for (auto& [begin, cell] : cells) {
    cell.tenant->used = true;
    if (cell.write) keep(cell.write);
    cell.ForEachSince(keep);
    cell.ForEachPast(keep);
  }
  for (auto& [id, tenant] : live_) tenant->used = true;
  for (auto& [owner, list] : pending_) {
    lanes[owner.first] = true;
    for (Pending& pending : list) {
      pending.tenant->used = true;
      for (Use& use : pending.uses) keep(use.entry);
    }
  }
  DropUnusedTenants();
  for (const auto& tenant : tenants_) {
    for (const Tenant::OpenUse& use : tenant->open_uses) {
      ops.insert(ops.end(), {use.index, use.other_index});
      lanes[use.lane] = true;
    }
    lanes[tenant->alloc_lane] = true;
    lanes[tenant->free_lane] = true;
    for (const auto& [lane, epoch] : tenant->alloc_beside) lanes[lane] = true;
    for (const ConditionalEdge& edge : tenant->edges) lanes[edge.lane] = true;
  }
  collectives_.ForEachLane([&](LaneId lane) { lanes[lane] = true; });
  running_.Keep(ops);
  order_.MarkConditional(&lanes);
  order_.RecycleLanes(lanes);
  if (order_.AnyHostEnded()) {
    std::vector<UserSet*> users;
    for (const auto& tenant : tenants_) users.push_back(&tenant->users);
    order_.ForgetEndedHosts(lanes, users);
  }
  log_.Forget(ops);
  next_sweep_ = log_.size() + std::max(kSweepEvery, shadow_.cells().size() * 4);
}

void Checker::DropUnusedTenants() {
  constexpr size_t kMaxSpare = 16384;
  auto gone = std::partition(tenants_.begin(), tenants_.end(),
                             [](const auto& tenant) { return tenant->used; });
  for (auto at = gone; at != tenants_.end() && spare_tenants_.size() < kMaxSpare; ++at) {
    spare_tenants_.push_back(std::move(*at));
  }
  tenants_.erase(gone, tenants_.end());
}

CheckResult Checker::Finish() {
  for (auto& [owner, list] : pending_) {
    for (Pending& pending : list) Decide(pending, true, Clock{});
  }
  pending_.clear();
  CheckResult result;
  for (size_t index : running_.Unseen(order_)) {
    result.running.push_back(MakeSite(log_.Get(index), index));
  }
  result.findings.assign(std::make_move_iterator(findings_.begin()),
                         std::make_move_iterator(findings_.end()));
  result.keys = std::move(keys_);
  result.advice = std::move(advice_);
  result.collectives = collectives_.Take();
  result.muted_private = muted_private_;
  result.untracked_bytes_accesses = untracked_;
  result.beginnings = beginnings_;
  result.forgotten = forgotten_;
  auto counts = [](const Lane& lane) { return !lane.Counts(); };
  const std::vector<Lane>& lanes = order_.lanes();
  result.stats.operations = log_.size();
  result.stats.accesses = accesses_;
  if (!lanes.empty()) result.stats.lanes = std::count_if(lanes.begin() + 1, lanes.end(), counts);
  order_.HandOn();
  return result;
}

}  // namespace ss
