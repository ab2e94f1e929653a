// Tenancies begin and end: rules 16 to 18.
#include "tests/reference/timeline.h"

namespace ss::reference {

void Timeline::Allocate(size_t i) {
  const Op& op = ops_[i];
  const Access& range = program_.accesses[op.access_begin];
  Tenant tenant;
  tenant.buffer = op.object;
  tenant.name = program_.strings.Get(op.name);
  tenant.begin = range.begin;
  tenant.end = range.end;
  tenant.memory = range.memory;
  tenant.pool = op.aux;
  tenant.device = op.value & 0xffffffff;
  tenant.rank = op.value >> 32;
  tenant.allocated = i;
  if (op.kind == OpKind::kAlloc && op.stream != 0) tenant.owner = StreamLane(i);
  storage_.Allocate(tenant);
  if (op.kind == OpKind::kAllocAsync) {
    Note("17 cudaMallocAsync");
    Enqueue(i, true);
    nodes_[i].pieces.clear();  // no access: judged as the allocation that it is
  }
}

// The marker is where "no use of the storage is left" takes effect: the owner stream of a caching
// block, the freeing host thread otherwise, the operation itself for free_async.
void Timeline::Free(size_t i) {
  const Op& op = ops_[i];
  Tenant* tenant = storage_.Find(op.object);
  if (tenant == nullptr) return;
  tenant->freed = i;
  tenant->exit_free = (op.flags & kProcessExit) != 0;
  tenant->carved_free = (op.flags & kImplicitEnd) != 0;
  if (op.kind == OpKind::kFreeAsync) {
    Enqueue(i, true);
    nodes_[i].pieces.clear();
    tenant->free_marker = nodes_[i].start;
    return;
  }
  if (tenant->owner != kNoLane) {
    tenant->free_marker = graph_.Add();
    for (Node node : lanes_.Tail(tenant->owner, i)) graph_.Connect(node, tenant->free_marker);
    lanes_.Append(tenant->owner, i, tenant->free_marker);
    return;
  }
  tenant->free_marker = nodes_[i].ret;
  if (tenant->carved_free) return;
  if (tenant->memory == MemoryKind::kPinned) Note("16 cudaFreeHost");
  // Rule 16: cudaFree waits for the device, and that is not to be relied on.
  if (tenant->memory != MemoryKind::kDevice && tenant->memory != MemoryKind::kManaged) return;
  if (op.flags & kNoBarrier) return Note("16 cuMemUnmap");
  for (Node node : lanes_.DeviceTails(tenant->device, tenant->rank, 0, i)) {
    HostAcquires(i, node, true);
    Note("16 cudaFree");
  }
}

// Recording the owner does nothing (rule 18).
void Timeline::RecordStream(size_t i) {
  Tenant* tenant = storage_.Find(op(i).object);
  if (tenant == nullptr || tenant->freed != kNever) return;
  const LaneId lane = StreamLane(i);
  if (lane == tenant->owner) {
    owner_records_.push_back({i, storage_.IdOf(op(i).object)});
    return Note("18 owner recorded");
  }
  tenant->recorded.insert(lane);
  Note("18 record_stream");
}

}  // namespace ss::reference
