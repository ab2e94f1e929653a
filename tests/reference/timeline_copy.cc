// Host-side effects of copies and memsets, by memory kind: rule 9.
#include "tests/reference/timeline.h"

namespace ss::reference {
namespace {

bool OnHost(MemoryKind memory) {
  return memory == MemoryKind::kPinned || memory == MemoryKind::kPageable;
}

}  // namespace

void Timeline::Copy(size_t i) {
  Enqueue(i, true);
  const Op& op = program_.ops[i];
  if (op.access_count < 2) return;
  const MemoryKind from = program_.accesses[op.access_begin].memory;
  const MemoryKind to = program_.accesses[op.access_begin + 1].memory;
  const bool blocking = (op.flags & kBlocking) != 0;
  OpNodes& self = nodes_[i];

  if (!OnHost(from) && !OnHost(to)) return Note("9 device to device");
  if (OnHost(from) && OnHost(to)) {
    HostAcquires(i, self.done, false);
    return Note("9 host to host");
  }
  if (OnHost(to)) {
    // Device to host: pinned waits in the blocking form only; pageable always, incidentally so in
    // the asynchronous form.
    if (blocking || to == MemoryKind::kPageable) HostAcquires(i, self.done, !blocking);
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
  for (Piece& piece : self.pieces) piece.staged_source = piece.mode == kRead;
  Note("9 pageable to device");
}

void Timeline::Memset(size_t i) {
  Enqueue(i, true);
  const Op& op = program_.ops[i];
  if ((op.flags & kBlocking) == 0 || op.access_count == 0) return Note("9 memset_async");
  const MemoryKind to = program_.accesses[op.access_begin].memory;
  if (to != MemoryKind::kPinned && to != MemoryKind::kManaged) return Note("9 memset, device");
  HostAcquires(i, nodes_[i].done, false);
  Note("9 memset, host waits");
}

}  // namespace ss::reference
