// What host threads know: rules 3, 6 and 12.
#include "tests/reference/split.h"
#include "tests/reference/timeline.h"

namespace ss::reference {
namespace {

enum ObjectClass : uint64_t { kStreamObject, kEventObject, kBufferObject };

uint64_t Key(ObjectClass object, uint64_t id) { return uint64_t{object} << 48 | id; }

}  // namespace

// The streams, events and buffers that a call uses. Creation and plain CPU accesses use none: they
// neither give nor take. A device synchronisation names no object.
std::vector<uint64_t> Timeline::UsedObjects(size_t i) {
  const Op& op = ops_[i];
  std::vector<uint64_t> objects;
  auto stream = [&] { objects.push_back(Key(kStreamObject, StreamLane(i))); };
  switch (op.kind) {
    case OpKind::kKernel:
    case OpKind::kCopy:
    case OpKind::kMemset:
    case OpKind::kHostFn:
    case OpKind::kCollective:
      stream();
      // Both parts of a copy are of one call.
      for (uint32_t a = 0; a < op.access_count + (IsSourcePart(op) ? 1 : 0); ++a) {
        for (const Piece& piece : storage_.Cut(program_.accesses[op.access_begin + a])) {
          objects.push_back(Key(kBufferObject, piece.tenant));
        }
      }
      if ((op.flags & kLaunchEvent) != 0) objects.push_back(Key(kEventObject, op.object));
      break;
    case OpKind::kEventRecord:
    case OpKind::kStreamWaitEvent:
      stream();
      objects.push_back(Key(kEventObject, op.object));
      break;
    case OpKind::kStreamSync:
    case OpKind::kStreamQuery:
    case OpKind::kAllocAsync:
    case OpKind::kSignal:
    case OpKind::kAwait:
      stream();
      break;
    case OpKind::kEventSync:
    case OpKind::kEventQuery:
      objects.push_back(Key(kEventObject, op.object));
      break;
    case OpKind::kRecordStream:
    case OpKind::kFreeAsync:
      stream();
      [[fallthrough]];
    case OpKind::kFree:
      objects.push_back(Key(kBufferObject, storage_.IdOf(op.object)));
      break;
    default:
      break;
  }
  return objects;
}

// Rule 3, default mode: whoever touches what another thread touched before knows what that thread
// knows at present.
void Timeline::TakeHandover(size_t i) {
  if (program_.strict) return;
  const HostId self = op(i).host;
  std::set<HostId> others;
  for (uint64_t object : UsedObjects(i)) {
    auto& users = users_[object];
    others.insert(users.begin(), users.end());
    users.insert(self);
  }
  others.erase(self);
  for (HostId other : others) {
    if (lanes_.RankOf(other) != lanes_.RankOf(self)) continue;  // another process
    for (Node known : lanes_.Tail(lanes_.HostLane(other), i)) {
      graph_.Connect(known, nodes_[i].call);
      if ((op(i).flags & kSameBatch) != 0) batch_[StreamLane(i)].handed.push_back(known);
      Note("3 handover");
    }
  }
}

void Timeline::HostAcquires(size_t i, Node node, bool incidental) {
  const EdgeKind kind = incidental ? EdgeKind::kIncidental : EdgeKind::kReal;
  graph_.Connect(node, nodes_[i].ret, kind);
  acquisitions_.push_back({i, node, incidental});
}

void Timeline::HostSync(size_t i) {
  const Op& op = ops_[i];
  if (op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery) {
    auto record = last_record_.find(op.object);
    if (record == last_record_.end()) {
      if ((op.flags & kNotReady) == 0) unrecorded_.push_back(i);
      return Note("5 never recorded");
    }
  }
  if ((op.flags & (kNotReady | kAllocatorInternal)) != 0) return Note("6 not ready");
  Nodes over;
  if (op.kind == OpKind::kDeviceSync) {
    over = lanes_.DeviceTails(op.aux, op.value, op.object, i);
    Note("6 device sync");
  } else if (op.kind == OpKind::kStreamSync || op.kind == OpKind::kStreamQuery) {
    // A synchronisation of the legacy stream waits for all blocking streams; one of a blocking
    // stream queues nothing, so it waits for that stream's own work alone.
    const LaneId lane = StreamLane(i);
    const bool legacy = lanes_[lane].type == StreamType::kLegacy;
    over = legacy ? lanes_.Frontier(lane, i) : lanes_.Tail(lane, i);
    Note(op.kind == OpKind::kStreamSync ? "6 stream sync" : "6 stream query");
  } else {
    over = {last_record_[op.object]};
    Note(op.kind == OpKind::kEventSync ? "6 event sync" : "6 event query");
  }
  for (Node node : over) HostAcquires(i, node, false);
}

// The receiving thread continues after this line: its next call follows a node of its own lane.
void Timeline::Handoff(size_t i) {
  const LaneId to = lanes_.HostLane(static_cast<HostId>(op(i).object));
  const Node entry = graph_.Add();
  for (Node before : lanes_.Tail(to, i)) graph_.Connect(before, entry);
  graph_.Connect(nodes_[i].ret, entry);
  lanes_.Append(to, i, entry);
  Note("3 handoff");
}

void Timeline::HostAccess(size_t i) {
  OpNodes& self = nodes_[i];
  CutAccesses(i);
  self.lane = lanes_.HostLane(op(i).host);
  self.work = true;
  self.start = graph_.Add();
  self.done = graph_.Add();
  graph_.Connect(self.call, self.start);
  graph_.Connect(self.start, self.done);
  graph_.Connect(self.done, self.ret);
  Note("12 CPU access");
}

}  // namespace ss::reference
