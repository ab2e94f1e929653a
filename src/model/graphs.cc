#include "src/model/graphs.h"

#include <algorithm>

namespace ss {
namespace {

// A collective's `aux` is its kind, and the upper half of `value` is free.
bool InValue(const Op& op) { return op.kind == OpKind::kCollective; }

bool InAux(const Op& op) {
  switch (op.kind) {
    case OpKind::kKernel:
    case OpKind::kCopy:
    case OpKind::kMemset:
    case OpKind::kHostFn:
    case OpKind::kFree:
    case OpKind::kFreeAsync:
    case OpKind::kRecordStream:
      return true;
    default:
      return false;
  }
}

void SetLaunchedOn(StreamId stream, Op* op) {
  if (InAux(*op)) op->aux = stream;
  if (InValue(*op)) op->value = (op->value & UINT32_MAX) | uint64_t{stream} << 32;
}

}  // namespace

StreamId LaunchedOn(const Op& op) {
  if (InValue(op)) return static_cast<StreamId>(op.value >> 32);
  return InAux(op) ? op.aux : 0;
}

void GraphExpander::Feed(const Op& op, const Access* accesses, const Sink& sink) {
  switch (op.kind) {
    case OpKind::kStreamCreate:
      return Create(op, sink);
    case OpKind::kGraphDestroy:
      return Destroy(op, sink);
    case OpKind::kCaptureBegin:
      return Begin(op);
    case OpKind::kCaptureEnd:
      return End();
    case OpKind::kGraphLaunch:
      return Launch(op, sink);
    default:
      break;
  }
  if (open_ != UINT32_MAX && Capture(op, accesses)) return;
  if (op.kind == OpKind::kFree || op.kind == OpKind::kFreeAsync) Freed(op.object);
  if (op.kind == OpKind::kHostAccess && op.aux == 1) return HostAccess(op, accesses, sink);
  sink(op, accesses);
}

// Inside a graph's host function: on the lane of its latest run.
void GraphExpander::HostAccess(Op op, const Access* accesses, const Sink& sink) {
  for (const auto& [id, graph] : graphs_) {
    auto run = graph.ran.find(op.value);
    if (run == graph.ran.end()) continue;
    op.stream = run->second;
  }
  sink(op, accesses);
}

// A stream that only a graph has is none before the graph is launched.
void GraphExpander::Create(const Op& op, const Sink& sink) {
  streams_[op.stream] = op;
  if (static_cast<StreamType>(op.aux) != StreamType::kGraph) sink(op, nullptr);
}

void GraphExpander::Destroy(const Op& op, const Sink& sink) {
  auto found = graphs_.find(op.object);
  if (found == graphs_.end()) return;
  for (const auto& [captured, lane] : found->second.lanes) {
    Op gone = op;
    gone.kind = OpKind::kStreamDestroy;
    gone.stream = lane;
    gone.object = 0;
    sink(gone, nullptr);
    streams_.erase(lane);
  }
  std::erase_if(kept_, [&](const auto& entry) { return entry.second == op.object; });
  graphs_.erase(found);
}

// The program frees what a launch has allocated: the next launch allocates it anew.
void GraphExpander::Freed(BufferId block) {
  auto graph = kept_.find(block);
  if (graph == kept_.end()) return;
  Graph& owner = graphs_[graph->second];
  if (auto step = owner.blocks.find(block); step != owner.blocks.end())
    owner.steps[step->second].live = false;
}

void GraphExpander::Begin(const Op& op) {
  open_ = op.object;
  Graph& graph = graphs_[open_];
  // Captured anew, it is the same executable graph, changed: its launches stay in order.
  auto lanes = std::move(graph.lanes);
  std::unordered_set<BufferId> live;
  for (const auto& [block, step] : graph.blocks) {
    if (graph.steps[step].live) live.insert(block);
  }
  graph = Graph{};
  graph.lanes = std::move(lanes);
  graph.live = std::move(live);
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
  bool alloc = op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync;
  if (alloc) graph.blocks[op.object] = graph.steps.size();
  bool free = op.kind == OpKind::kFree || op.kind == OpKind::kFreeAsync;
  if (auto own = graph.blocks.find(op.object); free && own != graph.blocks.end())
    graph.steps[own->second].once = false;
  graph.steps.push_back({op, {accesses, accesses + op.access_count}, alloc});
  graph.steps.back().live = alloc && graph.live.contains(op.object);
  return true;
}

void GraphExpander::End() {
  if (open_ == UINT32_MAX) return;
  std::vector<Step>& steps = graphs_[open_].steps;
  open_ = UINT32_MAX;
  auto allocates = [](const Step& step) {
    return step.op.kind == OpKind::kAlloc || step.op.kind == OpKind::kAllocAsync;
  };
  auto meet = [](const Step& a, const Step& b) {
    return a.accesses[0].begin < b.accesses[0].end && b.accesses[0].begin < a.accesses[0].end;
  };
  for (size_t kept = 0; kept < steps.size(); ++kept) {
    if (!steps[kept].once) continue;
    for (size_t i = 0; i < kept; ++i) {
      if (allocates(steps[i]) && meet(steps[i], steps[kept])) steps[i].over.push_back(kept);
    }
  }
}

// In the context of the stream that it is launched on (rule 15), whatever it was captured on: lanes
// that a launch elsewhere has left move there.
void GraphExpander::MakeLanes(Graph& graph, const Op& launch, const Sink& sink) {
  const Op& home = streams_[launch.stream];
  for (StreamId captured : graph.captured) {
    StreamId& lane = graph.lanes[captured];
    if (lane != 0 && streams_[lane].value == home.value && streams_[lane].object == home.object)
      continue;
    const bool named = launch.object < graph_names_.size();  // in a litmus file
    const std::string& graph_name = named ? graph_names_[launch.object] : strings_.Get(launch.name);
    std::string name = graph_name + "/" + strings_.Get(streams_[captured].name);
    Op create = home;
    create.kind = OpKind::kStreamCreate;
    create.host = launch.host;
    create.stream = lane = lane != 0 ? lane : next_stream_++;
    create.aux = static_cast<uint32_t>(StreamType::kGraph);
    create.name = strings_.Intern(name);
    create.id = launch.id;
    streams_[lane] = create;
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
}

// What the launch before has left is gone as soon as this one uses its storage for something else.
void GraphExpander::GiveBack(Graph& graph, Step& kept, const Op& launch, const Sink& sink) {
  if (!kept.live) return;
  kept.live = false;
  Op op = kept.op;
  op.kind = kept.op.kind == OpKind::kAllocAsync ? OpKind::kFreeAsync : OpKind::kFree;
  op.host = launch.host;
  op.stream = op.kind == OpKind::kFreeAsync ? graph.lanes[kept.op.stream] : 0;
  op.value = 0;
  SetLaunchedOn(launch.stream, &op);
  op.flags = kSynthetic | (kept.op.flags & kPrivate);
  op.line = launch.line;
  op.stack = launch.stack;
  op.id = launch.id;
  sink(op, kept.accesses.data());
}

void GraphExpander::Replay(Graph& graph, const Op& launch, const Sink& sink) {
  for (Step& step : graph.steps) {
    for (size_t kept : step.over) GiveBack(graph, graph.steps[kept], launch, sink);
    if (step.once && step.live) continue;
    step.live = step.once;
    if (step.once) kept_[step.op.object] = launch.object;
    Op op = step.op;
    op.host = launch.host;
    if (auto lane = graph.lanes.find(op.stream); lane != graph.lanes.end())
      op.stream = lane->second;
    bool on_event = op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent;
    if (on_event && !(op.flags & kExternal)) op.object = graph.events[op.object];
    if (op.flags & kLaunchEvent) op.object = graph.events[op.object];
    if (op.kind == OpKind::kStreamWaitEvent) op.aux = 0;
    SetLaunchedOn(launch.stream, &op);
    if (op.kind == OpKind::kHostFn) graph.ran[op.id] = op.stream;
    sink(op, step.accesses.data());
  }
}

}  // namespace ss
