// Host-side effects of copies and memsets, by memory kind: rule 9.
#include "tests/reference/split.h"
#include "tests/reference/timeline.h"

namespace ss::reference {
namespace {

bool OnHost(MemoryKind memory) {
  return memory == MemoryKind::kPinned || memory == MemoryKind::kPageable;
}

}  // namespace

// A source that is read out of the stream's order: from the call on, whatever the stream still
// does.
void Timeline::ReadApart(size_t i) {
  OpNodes& self = nodes_[i];
  CutAccesses(i);
  self.lane = StreamLane(i);
  self.apart = true;
  self.work = true;
  self.start = graph_.Add();
  self.done = graph_.Add();
  const bool same_call = (op(i).flags & kSameBatch) != 0;
  graph_.Connect(same_call ? batch_[self.lane].call : self.call, self.start);
  if (same_call) {
    for (Node node : batch_[self.lane].handed) graph_.Connect(node, self.start);
  }
  graph_.Connect(self.start, self.done);
  const bool in_call = (op(i).flags & kSourceInCall) != 0;
  if (in_call) HostAcquires(i, self.done, false);
  Note(in_call ? "9 source read in the call" : "9 source read at any time");
}

void Timeline::Copy(size_t i) {
  const Op& op = ops_[i];
  if (IsSourcePart(op)) return ReadApart(i);
  const Nodes before = lanes_.Tail(StreamLane(i), i);
  Enqueue(i, true);
  // What the call waits for is all of the batch so far.
  const bool same_batch = (op.flags & kSameBatch) != 0;
  if (same_batch) Note("9 same batch");
  const Node all = lanes_.Tail(nodes_[i].lane, i + 1)[0];
  if (IsRest(i)) {  // the rest of it: the writing
    graph_.Connect(nodes_[i - 1].done, nodes_[i].start);
    const MemoryKind to = program_.accesses[op.access_begin].memory;
    if (to == MemoryKind::kPageable) HostAcquires(i, all, true);
    return;
  }
  if (op.access_count < 2) return;
  const MemoryKind from = program_.accesses[op.access_begin].memory;
  const MemoryKind to = program_.accesses[op.access_begin + 1].memory;
  const bool blocking = (op.flags & kBlocking) != 0;
  OpNodes& self = nodes_[i];
  const Node over = same_batch ? all : self.done;

  if (!OnHost(from) && !OnHost(to)) return Note("9 device to device");
  if (OnHost(from) && OnHost(to)) {
    HostAcquires(i, over, false);
    return Note("9 host to host");
  }
  if (OnHost(to)) {
    // Device to host: pinned waits in the blocking form only; pageable always, incidentally so in
    // the asynchronous form.
    if (blocking || to == MemoryKind::kPageable) HostAcquires(i, over, !blocking);
    return Note(to == MemoryKind::kPageable ? "9 device to pageable" : "9 device to pinned");
  }
  if (from == MemoryKind::kPinned) {
    if (blocking) HostAcquires(i, self.done, false);
    return Note("9 pinned to device");
  }
  // Pageable to device: the source was read at return, the copy on the device may be in flight;
  // that the stream's earlier work is over before the staging is incidental in both forms.
  self.source_done = graph_.Add();
  graph_.Connect(self.call, self.source_done);
  graph_.Connect(self.source_done, self.done);
  graph_.Connect(self.start, self.source_done, EdgeKind::kIncidental);
  HostAcquires(i, self.source_done, !blocking);
  if (same_batch) HostAcquires(i, before[0], true);
  for (Piece& piece : self.pieces) piece.staged_source = piece.mode == kRead;
  Note("9 pageable to device");
}

void Timeline::Memset(size_t i) {
  Enqueue(i, true);
  const Op& op = ops_[i];
  if ((op.flags & kBlocking) == 0 || op.access_count == 0) return Note("9 memset_async");
  const MemoryKind to = program_.accesses[op.access_begin].memory;
  if (to != MemoryKind::kPinned && to != MemoryKind::kManaged) return Note("9 memset, device");
  HostAcquires(i, nodes_[i].done, false);
  Note("9 memset, host waits");
}

}  // namespace ss::reference
