#include "src/model/graphs.h"

#include <algorithm>

namespace ss {

void GraphExpander::Feed(const Op& op, const Access* accesses, const Sink& sink) {
  switch (op.kind) {
    case OpKind::kStreamCreate:
      streams_[op.stream] = op;
      break;
    case OpKind::kCaptureBegin:
      return Begin(op);
    case OpKind::kCaptureEnd:
      open_ = UINT32_MAX;
      return;
    case OpKind::kGraphLaunch:
      return Launch(op, sink);
    default:
      break;
  }
  if (open_ != UINT32_MAX && Capture(op, accesses)) return;
  sink(op, accesses);
}

void GraphExpander::Begin(const Op& op) {
  open_ = op.object;
  Graph& graph = graphs_[open_];
  graph = Graph{};
  graph.begin = op;
  graph.captured.push_back(op.stream);
}

// A wait for an event that was recorded inside joins its stream to the capture.
bool GraphExpander::Joins(const Op& wait) const {
  const Graph& graph = graphs_.at(open_);
  return wait.kind == OpKind::kStreamWaitEvent && graph.events.contains(wait.object);
}

bool GraphExpander::Capture(const Op& op, const Access* accesses) {
  Graph& graph = graphs_[open_];
  auto inside = [&](StreamId stream) {
    return std::find(graph.captured.begin(), graph.captured.end(), stream) != graph.captured.end();
  };
  bool block = op.kind == OpKind::kFree || op.kind == OpKind::kRecordStream;
  if (block ? !graph.blocks.contains(op.object) : !inside(op.stream) && !Joins(op)) return false;
  if (!block && !inside(op.stream)) graph.captured.push_back(op.stream);
  bool records =
      (op.kind == OpKind::kEventRecord && !(op.flags & kExternal)) || (op.flags & kLaunchEvent);
  if (records) graph.events.emplace(op.object, NewEvent());
  if (op.kind == OpKind::kAlloc) graph.blocks[op.object] = graph.steps.size();
  if (op.kind == OpKind::kFree) graph.steps[graph.blocks[op.object]].once = false;
  graph.steps.push_back({op, {accesses, accesses + op.access_count}, op.kind == OpKind::kAlloc});
  return true;
}

void GraphExpander::MakeLanes(Graph& graph, const Op& launch, const Sink& sink) {
  for (StreamId captured : graph.captured) {
    if (graph.lanes.contains(captured)) continue;
    Op create = streams_[captured];
    std::string name = graph_names_[launch.object] + "/" + strings_.Get(create.name);
    create.kind = OpKind::kStreamCreate;
    create.host = launch.host;
    create.stream = graph.lanes[captured] = next_stream_++;
    create.aux = static_cast<uint32_t>(StreamType::kGraph);
    create.name = strings_.Intern(name);
    create.id = launch.id;
    sink(create, nullptr);
  }
}

void GraphExpander::Link(const Op& launch, StreamId from, StreamId to, const Sink& sink) {
  if (from == to) return;
  EventId event = NewEvent();
  Op record{.kind = OpKind::kEventRecord,
            .flags = kSynthetic,
            .host = launch.host,
            .stream = from,
            .object = event,
            .stack = launch.stack,
            .line = launch.line,
            .id = launch.id};
  Op wait = record;
  wait.kind = OpKind::kStreamWaitEvent;
  wait.stream = to;
  Op gone = record;
  gone.kind = OpKind::kEventDestroy;
  sink(record, nullptr);
  sink(wait, nullptr);
  sink(gone, nullptr);
}

void GraphExpander::Launch(const Op& op, const Sink& sink) {
  auto found = graphs_.find(op.object);
  if (found == graphs_.end()) return sink(op, nullptr);
  Graph& graph = found->second;
  sink(op, nullptr);  // stays as the mark of where the launch begins
  MakeLanes(graph, op, sink);
  StreamId origin = graph.lanes[graph.captured[0]];
  // Fork. The origin's lane holds the previous launch's end, so its branches come after that too.
  Link(op, op.stream, origin, sink);
  for (StreamId captured : graph.captured) Link(op, origin, graph.lanes[captured], sink);
  Replay(graph, op, sink);
  for (StreamId captured : graph.captured) Link(op, graph.lanes[captured], origin, sink);
  Link(op, origin, op.stream, sink);
  graph.launched = true;
}

void GraphExpander::Replay(Graph& graph, const Op& launch, const Sink& sink) {
  for (const Step& step : graph.steps) {
    if (step.once && graph.launched) continue;
    Op op = step.op;
    op.host = launch.host;
    if (auto lane = graph.lanes.find(op.stream); lane != graph.lanes.end())
      op.stream = lane->second;
    bool on_event = op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent;
    if (on_event && !(op.flags & kExternal)) op.object = graph.events[op.object];
    if (op.flags & kLaunchEvent) op.object = graph.events[op.object];
    bool work = op.kind == OpKind::kKernel || op.kind == OpKind::kCopy ||
                op.kind == OpKind::kMemset || op.kind == OpKind::kHostFn;
    if (op.kind == OpKind::kStreamWaitEvent) op.aux = 0;
    if (work) op.aux = launch.stream;  // for names and fixes
    sink(op, step.accesses.data());
  }
}

}  // namespace ss
