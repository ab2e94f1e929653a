// Stream-ordered allocation (rule 17): a use is ordered after cudaMallocAsync and before
// cudaFreeAsync. The pool's own reuse creates no edge that a program may rely on.

#include "src/detect/checker.h"
#include "src/model/rules.h"

namespace ss {

void Checker::OnAllocAsync(const Op& op, size_t index, const Step& step, const Access& range) {
  if (!RuleOn(Rule::kPoolReuseNoEdge)) {
    // Broken on purpose in the test build: the new tenant's stream learns what the old one's did.
    Cell* cell = shadow_.Find(range.begin);
    if (cell != nullptr && cell->tenant != nullptr && cell->tenant->freed &&
        step.stream != nullptr) {
      order_.AddFrontier(cell->tenant->owner, op.host, step.stream->base.get());
    }
  }
  Tenant* tenant = NewTenant(op, index, range);
  tenant->kind = MemoryKind::kPool;
  std::vector<Tenant*> older, none;
  shadow_.Define(range.begin, range.end, tenant, &older);
  Clock now;  // over before anybody can work on the block
  if (step.start != nullptr) now = *step.start;
  now.Raise(step.lane, step.epoch);
  Inherit(*tenant, older, now);
  ForgetOpenUses(*tenant, [&](LaneId lane, uint64_t epoch) { return now.Get(lane) >= epoch; });
  shadow_.Erase(range.begin, range.end);
  shadow_.Define(range.begin, range.end, tenant, &none);
  if (RuleOn(Rule::kUseAfterAllocAsync)) {
    tenant->alloc_lane = step.lane;
    tenant->alloc_epoch = step.epoch;
  }
}

void Checker::CheckAllocOrder(Tenant& tenant, const Op& op, size_t index, const Step& step,
                              const Entry& entry) {
  Clock known = KnownTo(step, tenant);
  bool settled = known.Get(tenant.alloc_lane) >= tenant.alloc_epoch;
  if (settled && !options_.keep_absorbed) return;
  if (!settled) {
    order_.Expand(&known, tenant.edges, true);
    if (known.Get(tenant.alloc_lane) >= tenant.alloc_epoch) {
      AdviseImplicitSync(tenant, op, index, "the use comes after the allocation");
      return;
    }
  }
  ReportLifetime(tenant, {entry, entry.begin, entry.end, {}, {}}, tenant.alloc, tenant.alloc_index,
                 settled, false);
  if (settled) return;
  const Clock source = order_.Frontier(tenant.alloc_lane);
  if (step.started_lane != 0) {
    AddEdge(tenant, {source, step.started_lane, step.started_epoch, nullptr});
  }
  AddEdge(tenant, {source, step.lane, step.epoch, step.stream});
}

void Checker::OnFreeAsync(const Op& op, size_t index, const Step& step) {
  Tenant* tenant = FindTenant(op.object);
  if (tenant == nullptr || step.start == nullptr) return;
  tenant->freed = tenant->watched = true;
  tenant->free = op;
  tenant->free_index = index;
  live_.erase(op.object);
  Clock known = *step.start;
  known.Raise(step.lane, step.epoch);
  bool judged = !(op.flags & kProcessExit) && RuleOn(Rule::kUseBeforeFreeAsync);
  if (judged) {
    known.Join(
        order_.KnownAtFree(op.host));  // what any thread saw complete, as at any free (rule 19)
    // Whoever gets the storage works on it behind this free.
    ForgetOpenUses(*tenant, [&](LaneId lane, uint64_t epoch) { return known.Get(lane) >= epoch; });
    std::vector<Use> uses = UncoveredUses(*tenant, Clock{}, known);
    ReportUses(*tenant, uses, known, Clock{}, false);
  }
  shadow_.ForEach(tenant->begin, tenant->end, [&](uint64_t, Cell& cell) {
    if (cell.tenant == tenant) cell.DropIf([](const Entry&) { return true; });
  });
}

}  // namespace ss
