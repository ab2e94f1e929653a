// Programmatic launches and launch events (rules 7, 13).
#include "src/model/order.h"
#include "src/model/rules.h"

namespace ss {

// Rule 13: starts with its predecessor's start clock; a grid-dependency wait adds the predecessor's
// completion and that alone. It runs beside the stream's lane, whose later work waits for it as for
// all else.
Step Order::ProgrammaticWork(const Op& op, Stream& stream, Host& host) {
  auto start = std::make_shared<Clock>(*stream.last.start);
  start->Raise(stream.lane, stream.last.start_epoch);
  if (RuleOn(Rule::kHostKnowledge)) start->Join(host.clock);
  AddImplicit(stream, start.get());  // rule 4 knows no exception for programmatic launches
  const Stream::Kernel before = stream.last;
  const bool rest = op.flags & kAfterGridWait;
  if (op.flags & kPdlWait) start->Raise(before.lane, before.epoch);
  if (rest && before.behind_lane != 0) start->Raise(before.behind_lane, before.behind_epoch);
  LaneId lane = LaneBeside(stream, *start);
  uint64_t epoch = ++lanes_[lane].epoch;
  Step step{.lane = lane,
            .in_order = lane,
            .epoch = epoch,
            .write_epoch = epoch,
            .start = start.get(),
            .stream = &stream};
  // A programmatic launch behind this one starts after all that this one started after.
  step.started_epoch = Count(stream, &stream.started);
  step.started_lane = stream.started;
  start->Raise(step.started_lane, step.started_epoch);
  stream.last = {.start = start,
                 .start_epoch = start->Get(stream.lane),
                 .lane = lane,
                 .epoch = epoch,
                 .behind_lane = before.lane,
                 .behind_epoch = before.epoch,
                 .ended = EndedBefore(before, *start, !(op.flags & kPdlWait)),
                 .no_trigger = (op.flags & kNoTrigger) != 0};
  step.ended = stream.last.ended.get();
  if (op.flags & kLaunchEvent) RecordAtStart(op, stream, &step);
  JoinInto(stream, *start);
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(lane, epoch);
  ++stream.version;
  return step;
}

// What is over when a kernel starts behind `before`, for want of triggers; null: no more than
// `start`.
std::shared_ptr<const Clock> Order::EndedBefore(const Stream::Kernel& before, const Clock& start,
                                                bool waits_for_trigger) {
  const bool whole = waits_for_trigger && before.no_trigger;
  if (!whole && before.ended == nullptr) return nullptr;
  auto ended = std::make_shared<Clock>(start);
  if (before.ended != nullptr) ended->Join(*before.ended);
  if (whole) ended->Raise(before.lane, before.epoch);
  return ended;
}

LaneId Order::LaneBeside(Stream& stream, const Clock& start) {
  for (LaneId lane : stream.beside) {
    if (start.Get(lane) >= lanes_[lane].epoch) return lane;
  }
  LaneId lane = NewLane(Lane::Kind::kStream);
  lanes_[lane].stream = &stream;
  stream.beside.push_back(lane);
  return lane;
}

// Rule 7: the event fires when the kernel's blocks start, so it covers what the kernel itself
// waited for.
void Order::RecordAtStart(const Op& op, Stream& stream, Step* step) {
  Event& event = events_[op.object];
  event.recorded = true;
  event.producer = op.stream;
  if (!RuleOn(Rule::kLaunchEventEarly)) {
    event.snapshot = {stream.base, stream.last.lane, stream.last.epoch};
    return;
  }
  if (step->started_lane == 0) {
    step->started_epoch = Count(stream, &stream.started);
    step->started_lane = stream.started;
  }
  auto base = std::make_shared<Clock>(*stream.last.start);
  base->Raise(step->started_lane, step->started_epoch);
  event.snapshot = {base, stream.lane, stream.last.start_epoch};
}

}  // namespace ss
