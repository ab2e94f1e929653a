// Storage going back to its allocator: rules 16 to 19.
#include <algorithm>

#include "tests/reference/judge.h"

namespace ss::reference {

Judging::Use Judging::UseOf(size_t op, TenantId id) const {
  bool staged_only = true;
  for (const Piece& piece : timeline_.nodes(op).pieces) {
    if (piece.tenant == id) staged_only &= piece.staged_source;
  }
  return {op, DoneNodes(op, staged_only)};
}

std::vector<Judging::Use> Judging::UsesOf(TenantId id, size_t before) const {
  std::vector<Use> uses;
  for (size_t u = before; u-- > 0;) {
    const auto& pieces = timeline_.nodes(u).pieces;
    const bool used = std::any_of(pieces.begin(), pieces.end(),
                                  [&](const Piece& piece) { return piece.tenant == id; });
    if (used) uses.push_back(UseOf(u, id));
  }
  return uses;
}

Nodes Judging::RecordedTails(const Tenant& freed, std::optional<LaneId> without) const {
  Nodes tails;
  if (timeline_.op(freed.freed).flags & kSynthetic) return tails;  // a graph knows of no records
  for (LaneId lane : freed.recorded) {
    if (lane == without) continue;
    for (Node node : timeline_.lanes().Tail(lane, freed.freed)) tails.push_back(node);
  }
  return tails;
}

// The default mode trusts what any host thread saw complete before the free.
Nodes Judging::SeenByAnyHost(const Tenant& freed, bool incidental) const {
  Nodes seen;
  if (program_.strict) return seen;
  for (const Acquisition& acquired : timeline_.acquisitions()) {
    if (acquired.op >= freed.freed || (acquired.incidental && !incidental)) continue;
    if (!SameRank(acquired.op, freed.freed)) continue;
    seen.push_back(acquired.node);
  }
  return seen;
}

// What covers a use at the free: the freeing thread, the owner's frontier, the work queued on
// recorded streams (rule 18) but one; for the device's work also what any host thread saw complete.
Nodes Judging::FreeTargets(const Tenant& freed, std::optional<LaneId> without, bool incidental) {
  const size_t f = freed.freed;
  Nodes targets = {timeline_.nodes(f).call, freed.free_marker};
  auto add = [&](const Nodes& nodes) { targets.insert(targets.end(), nodes.begin(), nodes.end()); };
  if (freed.owner != kNoLane) {
    add(timeline_.lanes().Frontier(freed.owner, f));
  }
  add(RecordedTails(freed, without));
  if (incidental) targets.push_back(timeline_.nodes(f).ret);
  return targets;
}

Nodes Judging::UseTargets(TenantId id, const Use& use, std::optional<LaneId> without,
                          bool incidental) {
  Nodes targets = FreeTargets(tenant(id), without, incidental);
  if (timeline_.op(use.op).kind == OpKind::kHostAccess) return targets;
  for (Node node : SeenByAnyHost(tenant(id), incidental)) targets.push_back(node);
  return targets;
}

bool Judging::Covered(TenantId id, const Use& use, std::optional<LaneId> without, bool incidental) {
  return Before(UseTargets(id, use, without, incidental), 0, incidental).HasAll(use.done);
}

void Judging::JudgeFree(size_t f) {
  const TenantId id = timeline_.storage().IdOf(timeline_.op(f).object, f);
  if (id == ~TenantId{0} || tenant(id).exit_free || tenant(id).carved_free) return;
  std::vector<Use> uses = UsesOf(id, f);
  RemarkRedundantRecords(id, uses);
  Nodes over = RecordedTails(tenant(id), std::nullopt);
  over.push_back(timeline_.nodes(f).call);
  for (Node node : SeenByAnyHost(tenant(id), false)) over.push_back(node);
  // A pool hands out what it was given back in stream order.
  if (timeline_.op(f).kind == OpKind::kFreeAsync) over.push_back(timeline_.nodes(f).start);
  over_[id] = over;
  Pending pending;
  pending.tenant = id;
  pending.freed = f;
  for (const Use& use : uses) {
    if (!Covered(id, use, std::nullopt, false)) pending.uses.push_back(use);
  }
  if (pending.uses.empty()) return;
  Note("19 uncovered at the free");
  pending_.push_back(pending);
  // Only a caching allocator lets the owner catch up before it allocates again.
  if (tenant(id).owner == kNoLane) Settle(&pending_.back(), std::nullopt);
}

// Did a write that is ordered after the use cover all its bytes? Then who is ordered after the
// write is ordered after the use.
bool Judging::Replaced(const Use& use, TenantId id) {
  auto covered_by = [&](const OpNodes& later, const Piece& piece) {
    std::vector<Range> left = {{piece.begin, piece.end}};
    for (const Piece& other : later.pieces) {
      if ((other.mode & kWrite) != 0) left = Without(left, other.begin, other.end);
    }
    return left.empty();
  };
  const auto& mine = timeline_.nodes(use.op).pieces;
  for (size_t i = use.op + 1; i < tenant(id).freed; ++i) {
    const OpNodes& later = timeline_.nodes(i);
    const bool all = std::all_of(mine.begin(), mine.end(), [&](const Piece& piece) {
      return piece.tenant != id || covered_by(later, piece);
    });
    if (all && Before({later.start}, tenant(id).storage, false).HasAll(use.done)) return true;
  }
  return false;
}

// Redundant iff without it every use is covered as well. Where uses remain uncovered with all of
// them, the record is not what is wrong.
void Judging::RemarkRedundantRecords(TenantId id, std::vector<Use> uses) {
  std::erase_if(uses, [&](const Use& use) { return Replaced(use, id); });
  auto all_covered = [&](std::optional<LaneId> without) {
    return std::all_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return Covered(id, use, without, false); });
  };
  if (tenant(id).recorded.empty() || !all_covered(std::nullopt)) return;
  for (LaneId lane : tenant(id).recorded) {
    if (all_covered(lane)) AddRemark("redundant-record-stream", tenant(id).name, tenant(id).freed);
  }
}

// The same owner stream and pool, and not larger than what was freed; or the storage itself.
bool Judging::CouldServe(const Tenant& freed, const Tenant& next) const {
  if (freed.begin < next.end && next.begin < freed.end) return true;
  return next.owner == freed.owner && next.pool == freed.pool &&
         next.end - next.begin <= freed.end - freed.begin;
}

// Who must have come to cover the uses: the owner; where another stream gets the storage, that one.
Nodes Judging::OwnerAt(const Tenant& freed, size_t allocation) const {
  const Tenant& next =
      tenant(timeline_.storage().IdOf(timeline_.op(allocation).object, allocation));
  const bool taken = freed.begin < next.end && next.begin < freed.end && next.owner != kNoLane;
  Nodes targets = timeline_.lanes().Frontier(taken ? next.owner : freed.owner, allocation);
  targets.push_back(timeline_.nodes(allocation).call);
  return targets;
}

// Did a tenancy between the use and an allocation begin or end when the use was known to be
// complete? Then nobody who gets the bytes behind it meets the use.
bool Judging::OverInside(const Tenant& other, const Use& use, size_t before) {
  Nodes began = {timeline_.nodes(other.allocated).call};
  if (other.memory == MemoryKind::kPool) began.push_back(timeline_.nodes(other.allocated).start);
  if (Before(began, 0, false).HasAll(use.done)) return true;
  const TenantId id = timeline_.storage().IdOf(other.buffer, other.allocated);
  return other.freed < before && over_.count(id) != 0 &&
         Before(over_[id], 0, false).HasAll(use.done);
}

// The bytes that the use touched in the freed block, that the allocation gets, and that the use may
// still be at.
std::vector<Range> Judging::OpenBytes(TenantId freed, const Use& use, size_t allocation) {
  const Storage& storage = timeline_.storage();
  const Tenant& next = tenant(storage.IdOf(timeline_.op(allocation).object, allocation));
  std::vector<Range> open;
  for (const Piece& piece : timeline_.nodes(use.op).pieces) {
    const uint64_t begin = std::max(piece.begin, next.begin), end = std::min(piece.end, next.end);
    if (piece.tenant != freed || begin >= end) continue;
    for (const Range& range : storage.Kept(begin, end, use.op, allocation)) open.push_back(range);
  }
  for (const Tenant& other : storage.tenants()) {
    const bool between =
        other.allocated > std::max(use.op, tenant(freed).freed) && other.allocated < allocation;
    if (open.empty() || !between || !OverInside(other, use, allocation)) continue;
    open = Without(open, other.begin, other.end);
  }
  return open;
}

void Judging::SettleAtAllocation(size_t j) {
  const Tenant& next = tenant(timeline_.storage().IdOf(timeline_.op(j).object, j));
  if (next.memory == MemoryKind::kDevice) return;  // mapped at the same addresses: other memory
  for (Pending& pending : pending_) {
    const Tenant& freed = tenant(pending.tenant);
    if (pending.freed > j || !CouldServe(freed, next)) continue;
    if (freed.owner != kNoLane && !pending.uses.empty()) Settle(&pending, j);
    MarkStruck(pending, j);
  }
}

// Withdraws what the owner or the allocating thread covers by now, reports the rest.
void Judging::Settle(Pending* pending, std::optional<size_t> allocation) {
  const Tenant& freed = tenant(pending->tenant);
  if (allocation) {
    const NodeSet known = Before(OwnerAt(freed, *allocation), 0, false);
    auto covered = [&](const Use& use) { return known.HasAll(use.done); };
    const size_t before = pending->uses.size();
    std::erase_if(pending->uses, covered);
    if (pending->uses.size() < before) Note("19 withdrawn at the next allocation");
  }
  ReportUses(pending, allocation);
  pending->uses.clear();
}

void Judging::ReportUses(Pending* pending, std::optional<size_t> allocation) {
  const TenantId id = pending->tenant;
  const StorageId storage = tenant(id).storage;
  const Nodes owner = allocation ? OwnerAt(tenant(id), *allocation) : Nodes{};
  std::set<size_t> mended;  // uses that are in order once the races are mended
  for (const Use& use : pending->uses) {
    Nodes by_then = UseTargets(id, use, std::nullopt, false);
    by_then.insert(by_then.end(), owner.begin(), owner.end());
    if (Before(by_then, storage, false).HasAll(use.done)) mended.insert(use.op);
  }
  for (const Use& use : pending->uses) {
    Nodes by_then = UseTargets(id, use, std::nullopt, false);
    Nodes incidental = UseTargets(id, use, std::nullopt, true);
    by_then.insert(by_then.end(), owner.begin(), owner.end());
    incidental.insert(incidental.end(), owner.begin(), owner.end());
    lifetime_uses_[id].insert(use.op);
    // Also what a race's edge orders before the owner's work by the time of the allocation.
    if (Before(by_then, storage, false).HasAll(use.done) || SeenThroughAssumed(id, use)) {
      const auto hazard = StandingFor(*pending, use);
      if (hazard && !mended.contains(use.op)) pending->told.push_back({*hazard, use});
      AddHazard("lifetime", id, use.op, pending->freed, true);
    } else if (Before(incidental, storage, true).HasAll(use.done)) {
      AddRemark("implicit-sync", tenant(id).name, pending->freed);
    } else {
      pending->told.push_back({verdict_.hazards.size(), use});
      AddHazard("lifetime", id, use.op, pending->freed, false);
      AssumeEdge(use.op, pending->freed, tenant(id).free_marker, storage);
    }
  }
}

// What any thread saw complete says nothing of CPU accesses that came before it, but of those that
// a finding puts before it.
bool Judging::SeenThroughAssumed(TenantId id, const Use& use) {
  if (timeline_.op(use.op).kind != OpKind::kHostAccess) return false;
  const Nodes seen = SeenByAnyHost(tenant(id), false);
  return !Before(seen, 0, false).HasAll(use.done) &&
         Before(seen, tenant(id).storage, false).HasAll(use.done);
}

// The hazard of the same free that a use belongs to which is not reported by itself: what its lane
// had queued waits for the use. Where only a race would have to be mended, the race is it.
std::optional<size_t> Judging::StandingFor(const Pending& pending, const Use& use) {
  for (const Told& told : pending.told) {
    const size_t first = verdict_.hazards[told.hazard].first;
    const Nodes queued = timeline_.lanes().Tail(timeline_.nodes(first).lane, pending.freed);
    if (Before(queued, 0, false).HasAll(use.done)) return told.hazard;
  }
  return std::nullopt;
}

// Struck: bytes of a use went to somebody who can work on them while it may still run, directly or
// by way of others who had to wait for it.
void Judging::MarkStruck(const Pending& pending, size_t allocation) {
  const Tenant& freed = tenant(pending.tenant);
  Nodes targets = {timeline_.nodes(allocation).call};
  if (timeline_.op(allocation).kind == OpKind::kAllocAsync) {
    targets = {timeline_.nodes(allocation).start};  // in stream order: no work on it comes before
  }
  if (freed.owner != kNoLane) targets = OwnerAt(freed, allocation);
  const NodeSet known = Before(targets, 0, false);
  for (const Told& told : pending.told) {
    Hazard& hazard = verdict_.hazards[told.hazard];
    if (hazard.struck || known.HasAll(told.use.done)) continue;
    hazard.struck = !OpenBytes(pending.tenant, told.use, allocation).empty();
  }
}

}  // namespace ss::reference
