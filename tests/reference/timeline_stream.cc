// Work in stream order and events: rules 2, 4, 5 and 10.
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
  if (!faults_.Off("host_to_stream")) graph_.Connect(self.call, self.start);
  const bool implicit = !faults_.Off("legacy");
  const Nodes before = implicit ? lanes_.Frontier(self.lane, i) : lanes_.Tail(self.lane, i);
  if (before.size() > lanes_.Tail(self.lane, i).size()) Note("legacy");
  for (Node node : before) graph_.Connect(node, self.start);
  graph_.Connect(self.start, self.done);
  lanes_.Append(self.lane, i, self.done);
}

void Timeline::Record(size_t i) {
  Enqueue(i, false);
  last_record_[op(i).object] = i;
}

// Rule 5: the most recent record at the call. Without one the call queues nothing.
void Timeline::Wait(size_t i) {
  auto record = last_record_.find(op(i).object);
  if (record == last_record_.end()) {
    unrecorded_.push_back(i);
    return Note("unrecorded");
  }
  Enqueue(i, false);
  nodes_[i].joined_wait = true;
  nodes_[i].record = nodes_[record->second].done;
  if (!faults_.Off("wait")) graph_.Connect(nodes_[i].record, nodes_[i].start);
  Note("wait");
}

}  // namespace ss::reference
