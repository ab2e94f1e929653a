// Work in stream order and events: rules 2, 4, 5 and 10.
#include <algorithm>

#include "tests/reference/timeline.h"

namespace ss::reference {

void Timeline::CutAccesses(size_t i) {
  const Op& op = program_.ops[i];
  for (uint32_t a = 0; a < op.access_count; ++a) {
    for (const Piece& piece : storage_.Cut(program_.accesses[op.access_begin + a])) {
      nodes_[i].pieces.push_back(piece);
    }
  }
}

// Rule 2: after the predecessor in the stream, what the calling thread knows, and rule 4's order.
void Timeline::Enqueue(size_t i, bool work) {
  OpNodes& self = nodes_[i];
  CutAccesses(i);
  self.lane = StreamLane(i);
  self.work = work;
  self.start = graph_.Add();
  self.done = graph_.Add();
  graph_.Connect(self.call, self.start);
  const Nodes before = lanes_.Frontier(self.lane, i);
  NoteEnqueue(i, before.size() > lanes_.Tail(self.lane, i).size());
  for (Node node : before) graph_.Connect(node, self.start);
  graph_.Connect(self.start, self.done);
  lanes_.Append(self.lane, i, self.done);
}

void Timeline::NoteEnqueue(size_t i, bool implicit) {
  const StreamType type = lanes_[nodes_[i].lane].type;
  if (implicit) Note(type == StreamType::kLegacy ? "4 legacy waits" : "4 blocking waits");
  if (type == StreamType::kPerThread) Note("4 per-thread stream");
  if (op(i).kind == OpKind::kHostFn) Note("10 host function");
  if ((op(i).flags & kFill) != 0) Note("20 fill");
  const bool knows = std::any_of(acquisitions_.begin(), acquisitions_.end(), [&](const auto& a) {
    return !a.incidental && op(a.op).host == op(i).host;
  });
  if (knows) Note("2 the caller knows of work");
}

void Timeline::Record(size_t i) {
  if (last_record_.count(op(i).object) != 0) Note("5 recorded again");
  Enqueue(i, false);
  last_record_[op(i).object] = i;
}

// Rule 5: the most recent record at the call. Without one the call queues nothing.
void Timeline::Wait(size_t i) {
  auto record = last_record_.find(op(i).object);
  if (record == last_record_.end()) {
    unrecorded_.push_back(i);
    return Note("5 never recorded");
  }
  Enqueue(i, false);
  nodes_[i].joined_wait = true;
  nodes_[i].record = nodes_[record->second].done;
  graph_.Connect(nodes_[i].record, nodes_[i].start);
  Note("5 wait");
}

}  // namespace ss::reference
