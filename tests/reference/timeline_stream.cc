// Work in stream order and events: rules 2, 4, 5 and 10.
#include <algorithm>

#include "tests/reference/split.h"
#include "tests/reference/timeline.h"

namespace ss::reference {

void Timeline::CutAccesses(size_t i) {
  const Op& op = ops_[i];
  for (uint32_t a = 0; a < op.access_count; ++a) {
    const Access& access = program_.accesses[op.access_begin + a];
    if (access.shape != 0) Note("22 rows with gaps");
    if (access.begin >> 48 != lanes_.RankOf(op.host)) Note("8 another rank's memory");
    for (const Access& row : RowsOf(program_.accesses[op.access_begin + a])) {
      for (const Piece& piece : storage_.Cut(row)) nodes_[i].pieces.push_back(piece);
    }
  }
}

// Where an access leaves gaps: each row by itself.
std::vector<Access> Timeline::RowsOf(const Access& access) const {
  std::vector<Access> rows = {access};
  if (access.shape == 0) return rows;
  const Shape& shape = program_.shapes.Get(access.shape);
  rows[0].end = access.begin + shape.row;
  for (const Shape::Level& level : shape.levels) {
    const std::vector<Access> inside = rows;
    for (uint64_t i = 1; i < level.count; ++i) {
      for (Access row : inside) {
        row.begin += i * level.pitch;
        row.end += i * level.pitch;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

// Rule 2: after the predecessor in the stream, what the calling thread knows, and rule 4's order.
void Timeline::Enqueue(size_t i, bool work) {
  OpNodes& self = nodes_[i];
  CutAccesses(i);
  self.lane = StreamLane(i);
  self.work = work;
  self.start = graph_.Add();
  self.done = graph_.Add();
  const bool same_call = (op(i).flags & kSameBatch) != 0;
  const Nodes implicit = same_call ? Nodes{} : lanes_.Implicit(self.lane, i);
  NoteEnqueue(i, !implicit.empty());
  if (!same_call) graph_.Connect(CallOf(i), self.start);
  for (Node node : implicit) graph_.Connect(node, self.start);
  for (Node node : StreamOrder(i)) graph_.Connect(node, self.start);
  if (op(i).kind == OpKind::kCopy) EnterBatch(i);
  graph_.Connect(self.start, self.done);
  AppendToStream(i);
  if ((op(i).flags & kLaunchEvent) == 0) return;
  SetRecord(i, self.start);  // rule 7: when the blocks start
  Note("7 launch event");
}

// The predecessor's completion; for a programmatic launch directly behind a kernel its start alone,
// and its completion where the code waits for it (rule 13).
Nodes Timeline::StreamOrder(size_t i) {
  auto last = last_queued_.find(nodes_[i].lane);
  const bool programmatic = (op(i).flags & (kPdl | kPdlWait)) != 0 && last != last_queued_.end() &&
                            op(last->second).kind == OpKind::kKernel;
  if ((op(i).flags & kSameBatch) != 0) return {};
  if (!programmatic) return lanes_.Tail(nodes_[i].lane, i);
  Note("13 programmatic launch");
  Nodes before = {nodes_[last->second].start};
  if ((op(i).flags & kPdlWait) != 0) before.push_back(nodes_[last->second].done);
  if ((op(i).flags & kAfterGridWait) != 0) {  // and the one that both parts were launched behind
    Note("13 the rest of a kernel");
    const Nodes& behind = behind_[last->second];
    before.insert(before.end(), behind.begin(), behind.end());
  }
  behind_[i] = {nodes_[last->second].done};
  return before;
}

// Of a copy in two parts, that of the first one.
Node Timeline::CallOf(size_t i) const { return nodes_[IsRest(i) ? i - 1 : i].call; }

bool Timeline::IsRest(size_t i) const { return i > 0 && IsSourcePart(op(i - 1)); }

// The copies of a batch begin together, and are in no order.
void Timeline::EnterBatch(size_t i) {
  OpNodes& self = nodes_[i];
  if ((op(i).flags & kSameBatch) == 0) {
    batch_[self.lane] = {self.start, CallOf(i), {}};
    self.start = graph_.Add();
  }
  self.batch = batch_[self.lane].entry;
  graph_.Connect(self.batch, self.start);
  for (Node node : batch_[self.lane].handed) graph_.Connect(node, self.start);
  if (IsRest(i)) nodes_[i - 1].batch = self.batch;
}

// What comes later waits for everything before it, programmatic launches or not.
void Timeline::AppendToStream(size_t i) {
  const Node all = graph_.Add();
  for (Node node : lanes_.Tail(nodes_[i].lane, i)) graph_.Connect(node, all);
  graph_.Connect(nodes_[i].done, all);
  lanes_.Append(nodes_[i].lane, i, all);
  last_queued_[nodes_[i].lane] = i;
}

void Timeline::SetRecord(size_t i, Node when) {
  if (last_record_.count(op(i).object) != 0) Note("5 recorded again");
  last_record_[op(i).object] = when;
}

void Timeline::NoteEnqueue(size_t i, bool implicit) {
  const StreamType type = lanes_[nodes_[i].lane].type;
  const bool apart = type == StreamType::kNonBlocking || type == StreamType::kContext;
  if (implicit && apart) Note("15 held up by its context");
  if (implicit && !apart) Note(type == StreamType::kLegacy ? "4 legacy waits" : "4 blocking waits");
  if (type == StreamType::kPerThread) Note("4 per-thread stream");
  if (lanes_[nodes_[i].lane].primary != kNoContext) Note("15 work in a green context");
  if (type == StreamType::kGraph && nodes_[i].work) Note("14 node of a launch");
  if (op(i).kind == OpKind::kHostFn) Note("10 host function");
  if ((op(i).flags & kFill) != 0) Note("20 fill");
  const bool knows = std::any_of(acquisitions_.begin(), acquisitions_.end(), [&](const auto& a) {
    return !a.incidental && op(a.op).host == op(i).host;
  });
  if (knows) Note("2 the caller knows of work");
}

void Timeline::Record(size_t i) {
  if (lanes_[StreamLane(i)].type == StreamType::kContext) return RecordContext(i);
  Enqueue(i, false);
  SetRecord(i, nodes_[i].done);
}

// Rule 15: after all that is queued in the context. Nothing comes after it by being queued there.
void Timeline::RecordContext(size_t i) {
  OpNodes& self = nodes_[i];
  self.lane = StreamLane(i);
  self.start = graph_.Add();
  self.done = graph_.Add();
  graph_.Connect(self.call, self.start);
  graph_.Connect(self.start, self.done);
  for (Node node : lanes_.ContextTails(self.lane, i)) graph_.Connect(node, self.start);
  SetRecord(i, self.done);
  Note("15 record over a context");
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
  nodes_[i].record = record->second;
  graph_.Connect(nodes_[i].record, nodes_[i].start);
  Note(lanes_[nodes_[i].lane].type == StreamType::kContext ? "15 wait of a context" : "5 wait");
}

}  // namespace ss::reference
