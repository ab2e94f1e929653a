// Hazard lifetime: storage goes back to its allocator while a use of it is not ordered before what
// may happen next to it (rules 16, 18, 19). Judged at the free, without waiting for the reuse;
// decided at the next allocation that could get the storage.

#include <algorithm>
#include <tuple>

#include "src/detect/checker.h"
#include "src/model/rules.h"

namespace ss {
// --- allocation
// -----------------------------------------------------------------------------------

void Checker::OnAlloc(const Op& op, size_t index, const Access& range) {
  bool caching = range.memory == MemoryKind::kCaching;
  Clock& now = scratch_.now;  // what is over for whoever works on the block next
  now.Clear();
  if (caching) {
    // Nobody asks unless a free is undecided or a lifetime was reported.
    if (!pending_.empty() || !findings_.empty()) {
      order_.NextStart(op.stream, op.host, &now);
      now.Join(order_.host(op.host).clock);
    }
    DecideBefore(op, range, now);
  } else {
    shadow_.Erase(range.begin, range.end);  // a new generation of the addresses (rule 16)
  }
  Tenant* tenant = NewTenant(op, index, range);
  scratch_.older.clear();
  shadow_.Define(range.begin, range.end, tenant, &scratch_.older);
  Inherit(*tenant, scratch_.older, now);
  ForgetFinished(*tenant, order_.host(op.host).clock);
  if (!caching) return;
  tenant->watched = true;
  if (const Stream* owner = order_.FindStream(op.stream, op.host)) {
    tenant->alloc_lane = owner->lane;
    tenant->alloc_epoch = owner->epoch;
    for (LaneId lane : owner->beside) {
      tenant->alloc_beside.emplace_back(lane, order_.lanes()[lane].epoch);
    }
  }
}

// What the older tenants' findings settled stays settled; uses that a lifetime finding spoke of do
// not race with the new tenant (they are that finding); one that is still open now has struck.
void Checker::Inherit(Tenant& tenant, const std::vector<Tenant*>& older, const Clock& now) {
  for (Tenant* old : older) {
    HandOver(*old, tenant);
    if (!old->freed) continue;
    for (const ConditionalEdge& edge : old->edges) AddEdge(tenant, edge);
    for (size_t i = 0; i < old->alias_count; ++i) tenant.AddAlias(old->aliases[i]);
    tenant.AddAlias({old->id, old->name});
    if (tenant.kind == MemoryKind::kPool) continue;  // the pool starts with a clean slate (rule 17)
    if (old->over.size() != 0) ForgetFinished(tenant, old->over);
    if (old->settled.empty()) continue;
    shadow_.ForEach(tenant.begin, tenant.end, [&](uint64_t, Cell& cell) {
      Settle(cell, [&](const Entry& entry) {
        return std::find(old->settled.begin(), old->settled.end(), entry.index) !=
               old->settled.end();
      });
    });
  }
  Strike(tenant, now);
}

// The open uses of the bytes that change hands: a tenant that waits for them may be followed by one
// that does not.
void Checker::HandOver(Tenant& from, Tenant& to) const {
  std::vector<Tenant::OpenUse> kept;
  for (Tenant::OpenUse open : from.open_uses) {
    if (findings_[open.finding].struck) continue;  // once is enough
    const uint64_t begin = std::max(open.begin, to.begin), end = std::min(open.end, to.end);
    auto keep = [&](uint64_t first, uint64_t last) {
      if (first >= last) return;
      kept.push_back(open);
      kept.back().begin = first;
      kept.back().end = last;
    };
    if (begin >= end) {
      keep(open.begin, open.end);
      continue;
    }
    keep(open.begin, begin);
    keep(end, open.end);
    open.begin = begin;
    open.end = end;
    AddOpenUse(to, open);
  }
  from.open_uses = std::move(kept);
}

// A later use of the same lane that the same finding stands for says all that an earlier one does.
void Checker::AddOpenUse(Tenant& tenant, const Tenant::OpenUse& open) {
  std::erase_if(tenant.open_uses, [&](const Tenant::OpenUse& old) {
    const bool same = old.shape == open.shape && old.access_begin == open.access_begin;
    return old.finding == open.finding && old.lane == open.lane && old.epoch <= open.epoch &&
           open.begin <= old.begin && old.end <= open.end && (open.shape == 0 || same);
  });
  tenant.open_uses.push_back(open);
}

void Checker::AddOpenUses(Tenant& tenant, const Use& use, size_t finding) {
  if (finding == kNoFinding || !tenant.freed) return;  // used too early: no part of the free
  for (const Part& part : use.parts) {
    AddOpenUse(tenant,
               {use.entry.lane, use.entry.epoch, use.entry.index, tenant.free_index, finding,
                part.begin, part.end, part.access_begin, part.access_end, part.shape});
  }
}

void Checker::Strike(Tenant& tenant, const Clock& now) {
  for (const Tenant::OpenUse& open : tenant.open_uses) {
    if (now.Get(open.lane) >= open.epoch) continue;
    const Shape* shape = open.shape == 0 ? nullptr : &program_.shapes.Get(open.shape);
    const Touched touched{open.access_begin, open.access_end, shape};
    const Touched part{open.begin, open.end};
    const bool gap = Meet(touched, part, open.begin, open.end) == Meeting::kApart;
    if (!gap) MarkStruck(tenant, open);
  }
}

// What the allocating thread has seen complete was over before anybody could get the block.
void Checker::ForgetFinished(Tenant& tenant, const Clock& seen) {
  ForgetOpenUses(tenant, [&](LaneId lane, uint64_t epoch) { return seen.Get(lane) >= epoch; });
  shadow_.ForEach(tenant.begin, tenant.end, [&](uint64_t, Cell& cell) {
    Settle(cell, [&](const Entry& entry) { return seen.Get(entry.lane) >= entry.epoch; });
  });
}

// The instance that struck is the one to show: its use, its free and its reuse belong together.
void Checker::MarkStruck(Tenant& tenant, const Tenant::OpenUse& strike) {
  Finding& finding = findings_[strike.finding];
  if (finding.struck) return;
  finding.struck = true;
  finding.reuse = MakeSite(tenant.alloc, tenant.alloc_index);
  tenant.struck.push_back(strike.finding);
  auto same = [&](const Instance& at) {
    return at.first_index == strike.index && at.second_index == strike.other_index;
  };
  auto shown = std::find_if(finding.instances.begin(), finding.instances.end(), same);
  if (shown == finding.instances.end() || shown == finding.instances.begin()) return;
  std::rotate(finding.instances.begin(), shown, shown + 1);
  Retell(&finding.first, strike.index);
  Retell(&finding.second, strike.other_index);
}

// The same site, another time: what differs is when.
void Checker::Retell(Site* site, size_t index) const {
  site->index = index;
  site->op = log_.Get(index).id;
}

// The allocation could have been served with a freed block that fits, and was with one that it
// overlaps.
void Checker::DecideBefore(const Op& op, const Access& range, const Clock& now) {
  if (pending_.empty()) return;
  uint64_t size = range.end - range.begin;
  for (auto at = pending_.begin(); at != pending_.end();) {
    auto& [key, list] = *at;
    bool same = key == KeyOf(op.stream, op.host, op.aux) && RuleOn(Rule::kJudgedAtFree);
    for (Pending& pending : list) {
      const Tenant& freed = *pending.tenant;
      bool serves = same && size <= freed.end - freed.begin;
      if (serves || (freed.begin < range.end && range.begin < freed.end))
        Decide(pending, false, now);
    }
    std::erase_if(list, [](const Pending& pending) { return pending.tenant == nullptr; });
    at = list.empty() ? pending_.erase(at) : std::next(at);
  }
}

// Blocks of one owner lane and allocator: a per-thread stream is a lane for each thread.
Checker::OwnerKey Checker::KeyOf(StreamId owner, HostId host, uint32_t pool) {
  const Stream* stream = order_.FindStream(owner, host);
  return {stream == nullptr ? 0 : stream->lane, pool};
}

void Checker::Decide(Pending& pending, bool at_end, const Clock& now) {
  Tenant& tenant = *pending.tenant;
  pending.tenant = nullptr;
  if (at_end && !RuleOn(Rule::kJudgedAtFree)) return;
  std::vector<Use> left;
  for (const Use& use : pending.uses) {
    if (now.Get(use.entry.lane) < use.entry.epoch) left.push_back(use);
  }
  ReportUses(tenant, left, std::move(pending.known), now, at_end);
}

void Checker::OnBufferName(const Op& op, const Access& range) {
  Tenant* tenant = FindTenant(op.object);
  bool whole = tenant != nullptr && range.begin <= tenant->begin && tenant->end <= range.end;
  if (whole) tenant->name = op.name;  // a name for a part stays a name for a part
}

// --- free
// -----------------------------------------------------------------------------------------

void Checker::OnFree(const Op& op, size_t index) {
  Tenant* tenant = FindTenant(op.object);
  if (tenant == nullptr) return;
  tenant->freed = tenant->watched = true;
  tenant->free = op;
  tenant->free_index = index;
  bool judged = !(op.flags & (kProcessExit | kImplicitEnd));
  bool caching = tenant->kind == MemoryKind::kCaching;
  // cudaFree of a pool's block does not even wait incidentally (probed: docs/results, rule 16).
  // Nor does cuMemUnmap.
  bool incidental = (tenant->kind == MemoryKind::kDevice || tenant->kind == MemoryKind::kManaged) &&
                    (op.flags & kNoBarrier) == 0;
  if (judged && incidental) FreeIncidentally(*tenant, op);
  if (judged && !incidental) JudgeFree(*tenant, op);
  live_.erase(op.object);
  if (caching) return;
  // Nested blocks go with the memory that they were cut from; what was done to it stays where a
  // use that is issued later may come before the free.
  if (order_.before() == nullptr) shadow_.Erase(tenant->begin, tenant->end);
  std::vector<Tenant*> older;
  shadow_.Define(tenant->begin, tenant->end, tenant, &older);  // a use after this is a finding
}

// cudaFree waits for the memory's device, and that is not to be relied on: advice instead of a
// hazard (rule 16). It waits for no other device.
void Checker::FreeIncidentally(Tenant& tenant, const Op& op) {
  Clock known = order_.KnownAtFree(op.host);
  if (order_.before() != nullptr) tenant.over = known;
  std::vector<Use> uses = UncoveredUses(tenant, known, known);
  order_.AddIncidentalDeviceSync(op.host, tenant.device, tenant.rank);
  if (!RuleOn(Rule::kFreeIncidental)) return;
  ReportUses(tenant, uses, std::move(known), order_.host(op.host).clock, false);
}

Checker::Part Checker::PartOf(const Entry& entry, uint64_t begin, uint64_t end) {
  return {begin, end, entry.begin, entry.end, entry.shape};
}

std::vector<Checker::Use> Checker::UncoveredUses(Tenant& tenant, const Clock& gone,
                                                 const Clock& covered) {
  std::vector<Use> uses;
  shadow_.ForEach(tenant.begin, tenant.end, [&](uint64_t begin, Cell& cell) {
    if (cell.tenant != &tenant) return;
    if (order_.before() == nullptr) {
      cell.DropIf([&](const Entry& entry) { return gone.Get(entry.lane) >= entry.epoch; });
    }
    auto check = [&](const Entry& entry) {
      bool ours = entry.index > tenant.alloc_index;  // not an older tenant's
      if (ours && covered.Get(entry.lane) < entry.epoch)
        uses.push_back({entry, begin, cell.end, {PartOf(entry, begin, cell.end)}, {}});
    };
    if (cell.write) check(cell.write);
    cell.ForEachSince(check);
    cell.ForEachPast([&](const Entry& entry) {
      if (!entry.done) check(entry);
    });
  });
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    if (a.entry.index != b.entry.index) return a.entry.index > b.entry.index;
    return a.entry.apart < b.entry.apart;
  });
  std::vector<Use> merged;  // one use an operation
  for (const Use& use : uses) {
    if (merged.empty() || !merged.back().entry.OneWith(use.entry)) {
      merged.push_back(use);
      continue;
    }
    Use& same = merged.back();
    same.entry.mode |= use.entry.mode;
    same.entry.epoch = std::max(same.entry.epoch, use.entry.epoch);
    same.begin = std::min(same.begin, use.begin);
    same.end = std::max(same.end, use.end);
    same.parts.push_back(use.parts.front());
  }
  for (Use& use : merged) use.frontier = order_.Frontier(use.entry.lane);
  return merged;
}

// The usual end of a block: all its uses are over, or ordered before what its owner does next.
// Asked use by use, because making the clocks takes longer. False: somebody has to look closer.
bool Checker::ForgetIfCovered(Tenant& tenant, const Op& op) {
  bool caching = tenant.kind == MemoryKind::kCaching && RuleOn(Rule::kOwnerFrontier);
  const Stream* owner = caching ? order_.FindStream(tenant.owner, tenant.alloc.host) : nullptr;
  Order::AtFree gone = order_.LookAtFree(op.host);
  ForgetOpenUses(tenant, [&](LaneId lane, uint64_t epoch) { return gone.Knows(lane, epoch); });
  bool covered = true;
  shadow_.ForEach(tenant.begin, tenant.end, [&](uint64_t, Cell& cell) {
    if (cell.tenant != &tenant) return;
    cell.DropIf([&](const Entry& entry) { return gone.Knows(entry.lane, entry.epoch); });
    auto check = [&](const Entry& entry) {
      if (entry.index <= tenant.alloc_index) return;  // an older tenant's
      covered &= owner != nullptr && order_.NextStartKnows(*owner, entry.lane, entry.epoch);
    };
    if (cell.write) check(cell.write);
    cell.ForEachSince(check);
  });
  return covered;
}

void Checker::JudgeFree(Tenant& tenant, const Op& op) {
  bool caching = tenant.kind == MemoryKind::kCaching;
  if (!caching && !RuleOn(Rule::kFreeHostJudged)) return;
  const bool crosses = order_.before() != nullptr;
  if (!crosses && tenant.recorded.empty() && ForgetIfCovered(tenant, op)) return;
  Clock& owner = scratch_.owner;
  owner.Clear();
  if (caching && RuleOn(Rule::kOwnerFrontier))
    order_.NextStart(tenant.owner, tenant.alloc.host, &owner);
  Clock& gone = scratch_.gone;  // complete before anything can be handed out
  order_.KnownAtFree(op.host, &gone);
  AdviseRedundantRecords(tenant, owner, gone);
  if (RuleOn(Rule::kRecordStreamCovers) && (op.flags & kSynthetic) == 0) {
    for (const auto& use : tenant.recorded) order_.AddFrontier(use.stream, use.host, &gone);
  }
  if (crosses) tenant.over = gone;
  ForgetOpenUses(tenant, [&](LaneId lane, uint64_t epoch) { return gone.Get(lane) >= epoch; });
  Clock& covered = scratch_.covered;
  covered = gone;
  covered.Join(owner);
  std::vector<Use> uses = UncoveredUses(tenant, gone, covered);
  if (uses.empty()) return;
  if (caching) {
    std::tie(tenant.free_lane, tenant.free_epoch) = order_.Mark(tenant.owner, tenant.alloc.host);
  }
  Pending pending{&tenant, std::move(uses), covered};
  if (caching && RuleOn(Rule::kNextAllocation)) {
    pending_[KeyOf(tenant.owner, tenant.alloc.host, tenant.pool)].push_back(std::move(pending));
  } else {
    ReportUses(tenant, pending.uses, std::move(pending.known), Clock{}, false);
  }
}

// Latest use first: what its lane did until now settles the earlier ones.
void Checker::ReportUses(Tenant& tenant, std::vector<Use>& uses, Clock known, const Clock& now,
                         bool at_end) {
  known.Join(now);
  order_.Expand(&known, tenant.edges, false);
  const Clock before = known;  // with what races have settled, and nothing of this free's findings
  std::vector<std::pair<Clock, size_t>> reported;  // what each finding says is not waited for
  for (const Use& use : uses) {
    tenant.settled.push_back(use.entry.index);
    bool absorbed = known.Get(use.entry.lane) >= use.entry.epoch;
    if (absorbed && before.Get(use.entry.lane) < use.entry.epoch) {
      AddOpenUses(tenant, use, StandingFor(use, reported));
    }
    if (absorbed && !options_.keep_absorbed) continue;
    if (!absorbed) {
      Clock incidentally = known;
      order_.Expand(&incidentally, tenant.edges, true);
      if (incidentally.Get(use.entry.lane) >= use.entry.epoch) {
        AdviseImplicitSync(tenant, tenant.free, tenant.free_index, "its uses are over at the free");
        continue;
      }
      if (!WeaklyEvidenced(use.entry, use.entry)) {
        AssumeCovered(tenant, use);
        known.Join(use.frontier);
        order_.Expand(&known, tenant.edges, false);
      }
    }
    size_t finding = ReportLifetime(tenant, use, tenant.free, tenant.free_index, absorbed, at_end);
    AddOpenUses(tenant, use, finding);
    if (!absorbed && !WeaklyEvidenced(use.entry, use.entry)) {
      reported.emplace_back(use.frontier, finding);
    }
  }
}

// Whose finding, of the same free, a use belongs to that is not reported by itself: one whose lane
// had waited for it. Where only a race would have to be mended, the race is it.
size_t Checker::StandingFor(const Use& use, const std::vector<std::pair<Clock, size_t>>& reported) {
  for (const auto& [frontier, finding] : reported) {
    if (frontier.Get(use.entry.lane) >= use.entry.epoch) return finding;
  }
  return kNoFinding;
}

// From the free on the owner counts as having waited: what it orders after that does not race with
// the use, too. Other memory is forgotten at its free, and needs no such edge.
void Checker::AssumeCovered(Tenant& tenant, const Use& use) {
  if (tenant.free_lane == 0) return;
  Clock source = use.frontier;
  order_.Expand(&source, tenant.edges, false);
  AddEdge(tenant, {std::move(source), tenant.free_lane, tenant.free_epoch, nullptr});
}

size_t Checker::ReportLifetime(Tenant& tenant, const Use& use, const Op& other, size_t other_index,
                               bool absorbed, bool at_end) {
  if (!absorbed) found_on_.push_back(&tenant);
  if (tenant.is_private) {
    muted_private_ += !absorbed;
    return kNoFinding;
  }
  const Op& used = log_.Get(use.entry.index);
  Finding finding;
  finding.code = "lifetime";
  finding.absorbed = absorbed;
  finding.confidence = ConfidenceOf(use.entry, use.entry, used, other);
  if (at_end && options_.recorded) finding.confidence = Confidence::kPossible;
  finding.buffer = MakeBuffer(tenant, use.begin, EndOf(use.entry, use.entry, use.end));
  finding.first = MakeSite(use.entry, tenant);
  finding.second = MakeSite(other, other_index);
  finding.edge_from = finding.first.lane;
  finding.edge_to = finding.buffer.owner.empty() ? finding.second.lane : finding.buffer.owner;
  finding.instances.push_back({use.entry.index, other_index});
  return AddFinding(std::move(finding), used, other, tenant);
}

// --- first and late uses
// --------------------------------------------------------------------------

void Checker::CheckWatched(const Op& op, size_t index, const Step& step) {
  for (size_t i = 0; i < watched_.size(); ++i) {
    const Watch watch = watched_[i];
    Tenant& tenant = *watch.tenant;
    const bool before_free = tenant.freed && KnewAtFree(tenant, step.lane, step.epoch);
    if (tenant.freed && !before_free) {
      const Part part = PartOf(watch.entry, watch.begin, watch.end);
      LateUse(tenant, index, step, {watch.entry, watch.entry.begin, watch.entry.end, {part}, {}});
      continue;
    }
    if (tenant.kind == MemoryKind::kPool) {
      CheckAllocOrder(tenant, op, index, step, watch.entry);
      continue;
    }
    if (!tenant.watched || before_free) continue;
    tenant.watched = false;
    NameStruck(tenant, op, index);
    bool found = std::find(found_on_.begin(), found_on_.end(), &tenant) != found_on_.end();
    bool owners = step.stream != nullptr && step.stream->lane == tenant.alloc_lane;
    bool ordered = tenant.alloc_epoch == 0 || step.Knows(tenant.alloc_lane, tenant.alloc_epoch);
    for (auto [lane, epoch] : tenant.alloc_beside) ordered &= step.Knows(lane, epoch);
    if (owners || ordered || found) continue;
    if (!RuleOn(Rule::kAllocUnordered)) continue;
    if (AdvisedBefore("alloc-unordered", SubjectHash(tenant), op)) continue;
    Advise("alloc-unordered", BufferName(tenant), {},
           "first used on " + LaneName(op) + ", which does not wait for what " +
               StreamName(tenant.owner, tenant.alloc.host) +
               " was doing at the allocation: right only while the storage is fresh",
           op, index);
  }
  watched_.clear();
}

// Late uses of one tenant beyond these may race with the storage's next one, too.
constexpr size_t kMaxSettled = 4096;

// One cause a lane: later uses by the same lane say nothing new, but that one of them may strike.
void Checker::LateUse(Tenant& tenant, size_t index, const Step& step, const Use& use) {
  auto& lanes = tenant.reported_late;
  if (tenant.settled.size() < kMaxSettled) tenant.settled.push_back(index);
  LaneId lane =
      step.stream == nullptr ? step.lane : step.stream->lane;  // also of what runs beside it
  auto at = std::find_if(lanes.begin(), lanes.end(),
                         [&](const auto& reported) { return reported.first == lane; });
  if (at == lanes.end()) {
    const size_t finding =
        ReportLifetime(tenant, use, tenant.free, tenant.free_index, false, false);
    at = lanes.insert(at, {lane, finding});
  }
  AddOpenUses(tenant, use, at->second);
}

// The allocation gave the storage away; what did the damage is the new tenant's first use.
void Checker::NameStruck(Tenant& tenant, const Op& op, size_t index) {
  for (size_t finding : tenant.struck) {
    if (findings_[finding].reuse.index == tenant.alloc_index)
      findings_[finding].reuse = MakeSite(op, index);
  }
  tenant.struck.clear();
}

void Checker::OnRecordStream(const Op& op, size_t index) {
  Tenant* tenant = FindTenant(op.object);
  if (tenant == nullptr) return;
  const Stream* owner = order_.FindStream(tenant->owner, tenant->alloc.host);
  const Stream* user = order_.FindStream(op.stream, op.host);
  bool noop = owner != nullptr && owner == user;
  if (noop && RuleOn(Rule::kOwnerRecordNoop)) {
    if (AdvisedBefore("record-stream-noop", SubjectHash(*tenant), op)) return;
    Advise("record-stream-noop", BufferName(*tenant), {},
           StreamName(op.stream, op.host) + " owns the block: recording it protects nothing", op,
           index);
    return;
  }
  tenant->recorded.push_back({op.stream, op.host, index, op});
}

}  // namespace ss
