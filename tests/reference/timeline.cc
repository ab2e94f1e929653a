#include "tests/reference/timeline.h"

namespace ss::reference {

Timeline::Timeline(const Program& program, const std::vector<Op>& ops)
    : program_(program), ops_(ops), nodes_(ops.size()) {
  for (size_t i = 0; i < ops.size(); ++i) AddOp(i);
  MeetRanks();
  SettleCross();
}

void Timeline::AddOp(size_t i) {
  if (op(i).kind == OpKind::kHostBegin) {
    lanes_.DeclareHost(op(i).host, program_.strings.Get(op(i).name), op(i).aux);
    return;
  }
  const LaneId host = lanes_.HostLane(op(i).host);
  nodes_[i].call = graph_.Add();
  nodes_[i].ret = graph_.Add();
  graph_.Connect(nodes_[i].call, nodes_[i].ret);
  for (Node before : lanes_.Tail(host, i)) graph_.Connect(before, nodes_[i].call);
  TakeHandover(i);
  Dispatch(i);
  lanes_.Append(host, i, nodes_[i].ret);
}

void Timeline::Dispatch(size_t i) {
  switch (op(i).kind) {
    case OpKind::kStreamCreate:
      if (lanes_.DeclareStream(op(i), program_.strings.Get(op(i).name))) Note("1 name comes back");
      return;
    case OpKind::kStreamDestroy:
      return lanes_.DestroyStream(op(i).stream, i);
    case OpKind::kKernel:
    case OpKind::kHostFn:
      return Enqueue(i, true);
    case OpKind::kSignal:
    case OpKind::kAwait:
    case OpKind::kCollective:
      return Cross(i);
    case OpKind::kCopy:
      return Copy(i);
    case OpKind::kMemset:
      return Memset(i);
    case OpKind::kEventRecord:
      return Record(i);
    case OpKind::kStreamWaitEvent:
      return Wait(i);
    case OpKind::kStreamSync:
    case OpKind::kEventSync:
    case OpKind::kDeviceSync:
    case OpKind::kStreamQuery:
    case OpKind::kEventQuery:
      return HostSync(i);
    case OpKind::kHandoff:
      return Handoff(i);
    case OpKind::kHostAccess:
      return HostAccess(i);
    case OpKind::kAlloc:
    case OpKind::kAllocAsync:
      return Allocate(i);
    case OpKind::kFree:
    case OpKind::kFreeAsync:
      return Free(i);
    case OpKind::kRecordStream:
      return RecordStream(i);
    default:
      return;
  }
}

}  // namespace ss::reference
