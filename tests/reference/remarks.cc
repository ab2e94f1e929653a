// Advice: what is right but not needed, or not what its author thinks.
#include <algorithm>

#include "tests/reference/judge.h"

namespace ss::reference {

// Is every piece of work (kernels, copies, the host's part of a copy, CPU accesses; not records and
// waits) that is before `needed` also before `known`?
bool Judging::WorkCovered(const NodeSet& needed, const NodeSet& known, size_t before) const {
  for (size_t i = 0; i < before; ++i) {
    const OpNodes& nodes = timeline_.nodes(i);
    if (!nodes.work) continue;
    if (needed.Has(nodes.done) && !known.Has(nodes.done)) return false;
    const Node source = nodes.source_done;
    if (source != 0 && needed.Has(source) && !known.Has(source)) return false;
  }
  return true;
}

// The end of every piece of work that was queued on the lane itself.
Nodes Judging::OwnWork(LaneId lane, size_t before) const {
  Nodes done;
  for (size_t i = 0; i < before; ++i) {
    const OpNodes& nodes = timeline_.nodes(i);
    if (nodes.work && nodes.lane == lane) done.push_back(nodes.done);
  }
  return done;
}

// A hazard with an earlier tenant's use, or its incidental order, says more than the advice would.
bool Judging::RacesWithEarlierTenant(size_t b, TenantId id) const {
  for (const Remark& remark : verdict_.remarks) {
    if (remark.op == b && remark.subject == tenant(id).name) return true;
  }
  return std::any_of(verdict_.hazards.begin(), verdict_.hazards.end(), [&](const Hazard& hazard) {
    return !hazard.absorbed && hazard.second == b && hazard.first < tenant(id).allocated &&
           hazard.buffer == tenant(id).name;
  });
}

// The mirror of rule 19: the first use does not wait for the owner's work at the allocation.
void Judging::RemarkAllocUnordered(size_t b) {
  for (const Piece& piece : timeline_.nodes(b).pieces) {
    const Tenant& used = tenant(piece.tenant);
    if (used.owner == kNoLane || !used_.insert(piece.tenant).second) continue;
    const bool owners = used.owner == timeline_.nodes(b).lane && !timeline_.nodes(b).apart;
    if (owners || used.freed < b || RacesWithEarlierTenant(b, piece.tenant)) continue;
    const NodeSet known = Before({timeline_.nodes(b).start}, 0, false);
    if (!known.HasAll(OwnWork(used.owner, used.allocated))) {
      AddRemark("alloc-unordered", used.name, b);
    }
  }
}

// A wait is redundant iff its stream and its caller knew already of all work before the record.
void Judging::RemarkWait(size_t i) {
  const OpNodes& wait = timeline_.nodes(i);
  if (!wait.joined_wait) return;
  Nodes without = timeline_.lanes().Frontier(wait.lane, i);
  without.push_back(wait.call);
  const NodeSet needed = Before({wait.record}, 0, false);
  if (!WorkCovered(needed, Before(without, 0, false), i)) return;
  const Op& op = timeline_.op(i);
  const std::string stream = timeline_.lanes()[wait.lane].name;
  std::string subject =
      op.object < program_.event_names.size() ? program_.event_names[op.object] : "";
  if (op.aux != 0) subject = timeline_.StreamName(op.aux, op.host);
  AddRemark("redundant-wait", subject, i, stream);
}

void Judging::RemarkCalls() {
  for (size_t i : timeline_.unrecorded()) {
    const Op& op = timeline_.op(i);
    std::string event;
    if (op.object < program_.event_names.size()) event = program_.event_names[op.object];
    AddRemark("wait-unrecorded", event, i);
  }
  for (size_t i : timeline_.never()) {
    AddRemark("await-never", program_.flag_names[timeline_.op(i).object], i);
  }
  for (const auto& [i, id] : timeline_.owner_records()) {
    AddRemark("record-stream-noop", tenant(id).name, i);
  }
}

}  // namespace ss::reference
