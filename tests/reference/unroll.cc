#include "tests/reference/unroll.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ss::reference {
namespace {

using NodeIds = std::set<size_t>;  // positions of captured operations in the program

struct Captured {
  size_t op = 0;
  NodeIds waits;  // a wait: what it comes after; else empty
};

struct CapturedGraph {
  StreamId origin = 0;
  std::vector<Captured> steps;
  std::map<StreamId, StreamId> branches;
  std::map<size_t, EventId> done;  // of the latest launch: node -> event
  std::set<BufferId> freed_inside;
  std::map<BufferId, bool> live;  // allocated inside, and not freed inside
};

bool Runs(const Op& op) {
  return op.kind == OpKind::kKernel || op.kind == OpKind::kCopy || op.kind == OpKind::kMemset ||
         op.kind == OpKind::kHostFn || op.kind == OpKind::kAllocAsync ||
         op.kind == OpKind::kFreeAsync;
}

class Unroller {
 public:
  explicit Unroller(Program* program) : program_(*program), next_stream_(1), next_event_(1) {
    for (const Op& op : program->ops) {
      next_stream_ = std::max(next_stream_, op.stream + 1);
      const bool event = op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent ||
                         op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery ||
                         (op.flags & kLaunchEvent) != 0;
      if (event) next_event_ = std::max(next_event_, op.object + 1);
    }
  }

  std::vector<Op> Run() {
    for (size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.kind == OpKind::kStreamCreate) created_[op.stream] = op;
      if (op.kind == OpKind::kCaptureBegin) {
        i = Capture(i);
      } else if (op.kind == OpKind::kGraphLaunch) {
        Launch(op);
      } else {
        if (op.kind == OpKind::kFree) NoteFree(op.object);
        out_.push_back(op);
      }
    }
    return std::move(out_);
  }

 private:
  // Gives the position of the end. A declaration in between is the program's, not the graph's.
  size_t Capture(size_t begin) {
    CapturedGraph& graph = graphs_[program_.ops[begin].object];
    graph.origin = program_.ops[begin].stream;
    std::map<StreamId, NodeIds> behind = {{graph.origin, {}}};  // what a next node comes after
    std::map<EventId, NodeIds> events;
    std::set<BufferId> blocks;
    size_t i = begin + 1;
    for (; program_.ops[i].kind != OpKind::kCaptureEnd; ++i) {
      const Op& op = program_.ops[i];
      if (op.kind == OpKind::kStreamCreate) created_[op.stream] = op;
      if (op.kind == OpKind::kEventRecord && behind.count(op.stream)) {
        events[op.object] = behind[op.stream];
      } else if (op.kind == OpKind::kStreamWaitEvent && events.count(op.object)) {
        behind[op.stream].insert(events[op.object].begin(), events[op.object].end());
        graph.steps.push_back({i, events[op.object]});
      } else if (op.kind == OpKind::kAlloc && behind.count(op.stream)) {
        blocks.insert(op.object);
        graph.live[op.object] = false;
        graph.steps.push_back({i, {}});
      } else if (op.kind == OpKind::kFree && blocks.count(op.object)) {
        graph.freed_inside.insert(op.object);
        graph.steps.push_back({i, {}});
      } else if (op.kind == OpKind::kRecordStream && blocks.count(op.object)) {
        graph.steps.push_back({i, {}});
      } else if (Runs(op) && behind.count(op.stream)) {
        behind[op.stream] = {i};
        graph.steps.push_back({i, {}});
      } else {
        out_.push_back(op);
      }
    }
    for (const auto& [stream, nodes] : behind) graph.branches[stream] = 0;
    return i;
  }

  void NoteFree(BufferId buffer) {
    for (auto& [id, graph] : graphs_) {
      if (auto block = graph.live.find(buffer); block != graph.live.end()) block->second = false;
    }
  }

  EventId Record(const Op& launch, StreamId stream) {
    Op op = Synthetic(launch, OpKind::kEventRecord, stream);
    op.object = next_event_++;
    out_.push_back(op);
    return op.object;
  }
  void Wait(const Op& launch, StreamId stream, EventId event) {
    Op op = Synthetic(launch, OpKind::kStreamWaitEvent, stream);
    op.object = event;
    out_.push_back(op);
  }
  static Op Synthetic(const Op& launch, OpKind kind, StreamId stream) {
    Op op;
    op.kind = kind;
    op.flags = kSynthetic;
    op.host = launch.host;
    op.stream = stream;
    op.line = launch.line;
    op.id = launch.id;
    return op;
  }

  void Launch(const Op& launch) {
    CapturedGraph& graph = graphs_[launch.object];
    for (auto& [stream, branch] : graph.branches) {
      if (branch != 0) continue;
      Op create = created_[stream];
      create.host = launch.host;
      create.stream = branch = next_stream_++;
      create.aux = static_cast<uint32_t>(StreamType::kGraph);
      create.id = launch.id;
      out_.push_back(create);
    }
    const EventId fork = Record(launch, launch.stream);
    for (const auto& [stream, branch] : graph.branches) {
      Wait(launch, branch, fork);
      for (const auto& [node, event] : graph.done) Wait(launch, branch, event);
    }
    std::map<size_t, EventId> done;
    for (const Captured& step : graph.steps) Replay(launch, graph, step, &done);
    // A graph without nodes still comes after its launch before, and ends.
    if (done.empty()) done[~size_t{0}] = Record(launch, graph.branches[graph.origin]);
    for (const auto& [node, event] : done) Wait(launch, launch.stream, event);
    graph.done = std::move(done);
  }

  // Storage of a block that the launch before has left is handed out to another one: it is freed
  // by this launch.
  void TakeOver(const Op& launch, CapturedGraph& graph, const Op& alloc) {
    for (const Captured& step : graph.steps) {
      const Op& other = program_.ops[step.op];
      if (other.kind != OpKind::kAlloc || other.object == alloc.object) continue;
      if (graph.freed_inside.count(other.object) || !graph.live[other.object]) continue;
      const Access& mine = program_.accesses[alloc.access_begin];
      const Access& theirs = program_.accesses[other.access_begin];
      if (mine.end <= theirs.begin || theirs.end <= mine.begin) continue;
      graph.live[other.object] = false;
      Op gone = other;
      gone.kind = OpKind::kFree;
      gone.host = launch.host;
      gone.stream = 0;
      gone.aux = 0;
      gone.value = 0;
      gone.flags = kSynthetic;
      gone.line = launch.line;
      gone.id = launch.id;
      out_.push_back(gone);
    }
  }

  void Replay(const Op& launch, CapturedGraph& graph, const Captured& step,
              std::map<size_t, EventId>* done) {
    Op op = program_.ops[step.op];
    op.host = launch.host;
    if (auto branch = graph.branches.find(op.stream); branch != graph.branches.end())
      op.stream = branch->second;
    if (op.kind == OpKind::kStreamWaitEvent) {
      for (size_t node : step.waits) Wait(launch, op.stream, done->at(node));
      return;
    }
    if (op.kind == OpKind::kAlloc) TakeOver(launch, graph, op);
    if (op.kind == OpKind::kAlloc && !graph.freed_inside.count(op.object)) {
      bool& live = graph.live[op.object];
      if (live) return;
      live = true;
    }
    out_.push_back(op);
    if (Runs(op)) (*done)[step.op] = Record(launch, op.stream);
  }

  const Program& program_;
  std::vector<Op> out_;
  std::map<StreamId, Op> created_;
  std::map<uint32_t, CapturedGraph> graphs_;
  StreamId next_stream_;
  EventId next_event_;
};

}  // namespace

bool HasGraphs(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::kCaptureBegin; });
}

void UnrollGraphs(Program* program) { program->ops = Unroller(program).Run(); }

}  // namespace ss::reference
