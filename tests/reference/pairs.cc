// Races: every pair of conflicting accesses, in program order.
#include <algorithm>

#include "tests/reference/judge.h"

namespace ss::reference {
namespace {

bool Writes(uint8_t mode) { return (mode & (kWrite | kAtomic)) != 0; }
bool OnlyAtomic(uint8_t mode) { return mode == kAtomic; }

}  // namespace

bool Judging::IsHostSide(size_t i) const {
  const OpKind kind = timeline_.op(i).kind;
  return kind == OpKind::kHostAccess || kind == OpKind::kHostFn;
}

std::string Judging::PairCode(const Candidate& candidate, size_t b) const {
  if (candidate.allocation) return "lifetime";
  if (IsFill(candidate.op) || IsFill(b)) return "fill-race";
  if (IsHostSide(candidate.op) || IsHostSide(b)) return "host-race";
  return candidate.raw ? "race-raw" : candidate.waw ? "race-waw" : "race-war";
}

void Judging::AddConflicts(size_t a, size_t b, std::map<TenantId, std::vector<Candidate>>* found) {
  std::map<TenantId, Candidate> mine;
  for (const Piece& y : timeline_.nodes(b).pieces) {
    for (const Piece& x : timeline_.nodes(a).pieces) {
      if (x.end <= y.begin || y.end <= x.begin) continue;
      if (OnlyAtomic(x.mode) && OnlyAtomic(y.mode)) continue;
      if (!Writes(x.mode) && !Writes(y.mode)) continue;
      const uint64_t begin = std::max(x.begin, y.begin), end = std::min(x.end, y.end);
      const Tenant& used = tenant(y.tenant);
      const bool before_free = used.freed < b && KnownAtFree(used, b);
      const auto kept = before_free ? std::vector<Range>{{begin, end}}
                                    : timeline_.storage().Kept(begin, end, a, b);
      if (kept.empty()) continue;
      Candidate& candidate = mine[y.tenant];
      candidate.op = a;
      candidate.tenants.insert(x.tenant);
      for (const Range& range : kept) candidate.overlaps.emplace_back(range.begin, range.end);
      if (x.begin != y.begin || x.end != y.end) Note("22 ranges that overlap in part");
      candidate.raw |= Writes(x.mode) && (y.mode & kRead) != 0;
      candidate.waw |= Writes(x.mode) && Writes(y.mode);
      candidate.war |= (x.mode & kRead) != 0 && Writes(y.mode);
      candidate.whole |= !x.staged_source;
      candidate.done = DoneNodes(a, !candidate.whole);
    }
  }
  for (auto& [id, candidate] : mine) (*found)[id].push_back(candidate);
}

// Rule 17: a use must come after the allocation in the pool's stream order.
void Judging::AddPoolAllocations(size_t b, std::map<TenantId, std::vector<Candidate>>* found) {
  for (const Piece& piece : timeline_.nodes(b).pieces) {
    const Tenant& used = tenant(piece.tenant);
    if (timeline_.op(used.allocated).kind != OpKind::kAllocAsync || used.freed < b) continue;
    auto& candidates = (*found)[piece.tenant];
    if (std::any_of(candidates.begin(), candidates.end(),
                    [](const Candidate& c) { return c.allocation; })) {
      continue;
    }
    Candidate candidate;
    candidate.op = used.allocated;
    candidate.allocation = true;
    candidate.done = DoneNodes(used.allocated, false);
    candidates.push_back(candidate);
  }
}

// By buffer, latest first.
std::map<TenantId, std::vector<Judging::Candidate>> Judging::Candidates(size_t b) {
  std::map<TenantId, std::vector<Candidate>> found;
  for (size_t a = b; a-- > 0;) AddConflicts(a, b, &found);
  AddPoolAllocations(b, &found);
  for (auto& [id, candidates] : found) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& x, const Candidate& y) { return x.op > y.op; });
  }
  return found;
}

// The tenancy ended, or the next one began, after somebody who could know saw the use complete: the
// allocator, the freeing or the allocating thread. Nothing can be done to the next tenant before
// that.
bool Judging::Over(const Candidate& candidate, size_t b, TenantId newest) {
  const Tenant& now = tenant(newest);
  const bool earlier = candidate.op < now.allocated;
  if (now.memory == MemoryKind::kPool && (earlier || now.freed < b)) return true;
  const auto inside = [&](const Tenant& in) {
    return std::all_of(
        candidate.overlaps.begin(), candidate.overlaps.end(),
        [&](const auto& bytes) { return in.begin <= bytes.first && bytes.second <= in.end; });
  };
  // Also a tenancy of the bytes between the two operations, that neither of them is a use of; and
  // the one of which the second is a use after the free, if it is one.
  for (const auto& [id, ended] : over_) {
    const Tenant& other = tenant(id);
    const bool between = candidate.op < other.allocated && other.freed < now.allocated;
    const bool late = id == newest && inside(other);
    if (!candidate.tenants.contains(id) && !late && !(between && inside(other))) continue;
    if (other.freed > b || candidate.op > other.freed) continue;
    if (id == newest && KnownAtFree(other, b)) continue;
    if (Before(ended, 0, false).HasAll(candidate.done)) return true;
  }
  auto knew = [&](const Tenant& next) {
    const bool between = candidate.op < next.allocated && next.allocated <= now.allocated;
    return between && inside(next) &&
           Before({timeline_.nodes(next.allocated).call}, 0, false).HasAll(candidate.done);
  };
  const auto& all = timeline_.storage().tenants();
  return earlier && std::any_of(all.begin(), all.end(), knew);
}

// Did the end of the tenancies in which the first operation touched the bytes settle it for what
// comes later? Uses after one free are all that free's findings, not races between them.
bool Judging::SettledByLifetime(const Candidate& candidate, size_t b, TenantId newest) const {
  auto settled = [&](TenantId id) {
    auto uses = lifetime_uses_.find(id);
    return uses != lifetime_uses_.end() && uses->second.count(candidate.op) != 0 &&
           tenant(id).freed < b && (id != newest || tenant(id).freed < candidate.op);
  };
  return !candidate.allocation &&
         std::all_of(candidate.tenants.begin(), candidate.tenants.end(), settled);
}

// Did a later write, itself settled, replace all that the candidate left behind? Or was the settled
// one a later reading of the same bytes on the same lane, which stands for the earlier ones?
bool Judging::Hidden(const Candidate& candidate, const std::vector<Candidate>& hiding,
                     StorageId storage) {
  const bool reads = candidate.war && !candidate.raw && !candidate.waw;
  auto replaces = [&](const Candidate& later, std::pair<uint64_t, uint64_t> bytes) {
    const auto& pieces = timeline_.nodes(later.op).pieces;
    return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      const bool stands = (piece.mode & kWrite) != 0 || (reads && SameLane(later.op, candidate.op));
      return stands && piece.begin <= bytes.first && bytes.second <= piece.end;
    });
  };
  for (const Candidate& later : hiding) {
    const auto& overlaps = candidate.overlaps;
    if (std::all_of(overlaps.begin(), overlaps.end(),
                    [&](const auto& bytes) { return replaces(later, bytes); }) &&
        !Reversed(candidate.op, later.op) &&
        Before({timeline_.nodes(later.op).start}, storage, false).HasAll(candidate.done)) {
      return true;
    }
  }
  return false;
}

// The operation that was issued first waits for this one: through a signal, or another rank.
bool Judging::Reversed(size_t a, size_t b) {
  return Before({timeline_.nodes(a).start}, 0, false).Has(timeline_.nodes(b).done);
}

void Judging::JudgeCandidates(size_t b, TenantId id, std::vector<Candidate> candidates) {
  const StorageId storage = tenant(id).storage;
  const Nodes start = {timeline_.nodes(b).start};
  const NodeSet real = Before(start, 0, false);
  NodeSet settled = Before(start, storage, false);
  std::vector<Candidate> hiding;  // settled at the end of their tenancy
  for (const Candidate& candidate : candidates) {
    if (real.HasAll(candidate.done)) continue;
    if (!candidate.allocation && Reversed(candidate.op, b)) continue;
    if (Hidden(candidate, hiding, storage)) continue;
    if (Over(candidate, b, id)) {
      hiding.push_back(candidate);
      continue;
    }
    const std::string code = PairCode(candidate, b);
    const size_t first = candidate.allocation ? b : candidate.op;
    const size_t second = candidate.allocation ? candidate.op : b;
    if (settled.HasAll(candidate.done)) {
      AddHazard(code, id, first, second, true);
    } else if (SettledByLifetime(candidate, b, id)) {
      AddHazard(code, id, first, second, true);
      hiding.push_back(candidate);
    } else if (Before(start, storage, true).HasAll(candidate.done)) {
      AddRemark("implicit-sync", tenant(id).name, b);
    } else {
      AddHazard(code, id, first, second, false);
      AssumeEdge(candidate.op, b, WaitBefore(candidate.op, b), storage);
      settled = Before(start, storage, false);
    }
  }
}

// Where the wait would join that puts b behind a: for a copy of a batch that is before all of the
// batch, unless a is of the batch itself.
Node Judging::WaitBefore(size_t a, size_t b) const {
  const OpNodes &first = timeline_.nodes(a), &second = timeline_.nodes(b);
  const bool alone = second.batch == 0 || second.apart || first.batch == second.batch;
  return alone ? second.start : second.batch;
}

// Buffer by buffer, each as if it were the only one: two tenants of one storage are two buffers.
void Judging::JudgePairs(size_t b) {
  Graph& graph = timeline_.graph();
  std::map<Node, size_t> before;  // edges into where a wait would join
  std::map<Node, std::vector<Graph::Edge>> assumed;
  for (Node node : {timeline_.nodes(b).start, timeline_.nodes(b).batch}) {
    before[node] = graph.Incoming(node);
  }
  for (auto& [id, candidates] : Candidates(b)) {
    JudgeCandidates(b, id, candidates);
    for (const auto& [node, edges] : before) {
      for (const Graph::Edge& edge : graph.TakeBack(node, edges)) assumed[node].push_back(edge);
    }
  }
  for (const auto& [node, edges] : assumed) {
    for (const Graph::Edge& edge : edges) graph.Connect(edge.from, node, edge.kind, edge.storage);
  }
}

// A use that another rank issues further down may be over when the block is freed.
bool Judging::KnownAtFree(const Tenant& freed, size_t b) {
  Nodes known = SeenByAnyHost(freed, false);
  known.push_back(timeline_.nodes(freed.freed).call);
  return Before(known, 0, false).Has(timeline_.nodes(b).done);
}

void Judging::JudgeUseAfterFree(size_t b) {
  std::set<TenantId> seen;
  for (const Piece& piece : timeline_.nodes(b).pieces) {
    const Tenant& used = tenant(piece.tenant);
    if (used.freed > b || used.exit_free || !seen.insert(piece.tenant).second) continue;
    if (KnownAtFree(used, b)) continue;
    Note("19 use after free");
    lifetime_uses_[piece.tenant].insert(b);
    const auto [reported, first] =
        late_lanes_[piece.tenant].emplace(timeline_.nodes(b).lane, verdict_.hazards.size());
    AddHazard("lifetime", piece.tenant, b, used.freed, !first);
    Pending late;
    late.tenant = piece.tenant;
    late.freed = used.freed;
    late.told.push_back({reported->second, UseOf(b, piece.tenant)});
    pending_.push_back(late);
  }
}

}  // namespace ss::reference
