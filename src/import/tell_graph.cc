// An executable graph in the model's capture language: branches become streams, edges between them
// records and waits.
#include <algorithm>

#include "src/import/state.h"

namespace ss {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

struct Lane {
  StreamId stream = 0;
  StreamId home = 0;  // captured stream; 0 = a branch of our own
  uint32_t last = kNone;
};

// Where each node runs: behind one that it comes after, on its own captured stream if that does.
class Placement {
 public:
  explicit Placement(const std::vector<FlatNode>& flat) : flat_(flat), lane_of(flat.size(), 0) {}

  void Run(StreamId origin) {
    if (origin != 0) lanes.push_back({origin, origin, kNone});
    for (uint32_t i = 0; i < flat_.size(); ++i) {
      lane_of[i] = Choose(i);
      lanes[lane_of[i]].last = i;
    }
  }

 private:
  bool Behind(const Lane& lane, uint32_t i) const {
    const auto& after = flat_[i].after;
    return lane.last != kNone && std::any_of(after.begin(), after.end(), [&](const auto& before) {
             return before.node == lane.last;
           });
  }
  // An allocator's bookkeeping has no edges: it stands where it stood.
  size_t Choose(uint32_t i) {
    const GraphNode& node = *flat_[i].node;
    const bool bookkeeping = node.handle == 0;
    bool own = false;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (node.home == 0 || lanes[lane].home != node.home) continue;
      own = true;
      if (bookkeeping || lanes[lane].last == kNone || Behind(lanes[lane], i)) return lane;
      if (flat_[lanes[lane].last].node->handle == 0) return lane;
    }
    if (node.home == 0 || own) {
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        if (Behind(lanes[lane], i)) return lane;
      }
    }
    lanes.push_back({0, own ? 0 : node.home, kNone});
    return lanes.size() - 1;
  }

  const std::vector<FlatNode>& flat_;

 public:
  std::vector<Lane> lanes;
  std::vector<size_t> lane_of;
};

}  // namespace

StreamId Importer::State::MakeBranch(ExecutableGraph& exec, size_t number,
                                     const StreamLife& launcher) {
  while (exec.branches.size() <= number) {
    StreamLife branch = launcher;
    branch.id = streams_.Fresh();
    branch.type = StreamType::kGraph;
    branch.name = strings_.Intern("branch#" + std::to_string(exec.branches.size()));
    stream_names_.push_back(branch.name);
    EmitStream(branch, 0);
    exec.branches.push_back(branch.id);
  }
  return exec.branches[number];
}

void Importer::State::TellGraph(ExecutableGraph& exec, const StreamLife& launcher) {
  const std::vector<FlatNode> flat = Flatten(exec.body);
  Placement place(flat);
  place.Run(exec.body.origin);
  if (place.lanes.empty()) place.lanes.push_back({});
  size_t branches = 0;
  for (Lane& lane : place.lanes) {
    const bool home = lane.home != 0 && streams_.Lives(lane.home);
    lane.stream = home ? lane.home : MakeBranch(exec, branches++, launcher);
  }

  auto link = [&](OpKind kind, StreamId stream, EventId event) {
    Op& op = Emit(kind);
    op.stream = stream;
    op.object = event;
    op.flags |= kSynthetic;
  };
  Op& begin = Emit(OpKind::kCaptureBegin);
  begin.stream = place.lanes[0].stream;
  begin.object = exec.id;
  begin.name = exec.name;
  const EventId fork = events_.Fresh();
  link(OpKind::kEventRecord, place.lanes[0].stream, fork);
  for (size_t i = 1; i < place.lanes.size(); ++i) {
    link(OpKind::kStreamWaitEvent, place.lanes[i].stream, fork);
  }
  // Which nodes another branch waits for, and what for.
  std::vector<EventId> ended(flat.size(), 0), started(flat.size(), 0);
  auto needs = [&](uint32_t i, const GraphNode::Before& before) {
    return place.lane_of[before.node] != place.lane_of[i];
  };
  auto at_start = [&](uint32_t i, const GraphNode::Before& before) {
    return before.start && !GridWait(*flat[i].node) && IsKernel(*flat[before.node].node);
  };
  for (uint32_t i = 0; i < flat.size(); ++i) {
    for (const GraphNode::Before& before : flat[i].after) {
      if (!needs(i, before)) continue;
      EventId& event = at_start(i, before) ? started[before.node] : ended[before.node];
      if (event == 0) event = events_.Fresh();
    }
  }
  for (uint32_t i = 0; i < flat.size(); ++i) {
    const StreamId stream = place.lanes[place.lane_of[i]].stream;
    for (const GraphNode::Before& before : flat[i].after) {
      if (!needs(i, before)) continue;
      link(OpKind::kStreamWaitEvent, stream,
           at_start(i, before) ? started[before.node] : ended[before.node]);
    }
    const auto& after = flat[i].after;
    const bool programmatic = after.size() == 1 && after[0].start && !needs(i, after[0]);
    for (const NodeOp& one : flat[i].node->work) {
      PushAgain(one);
      Op& op = *held_.Find(held_.last());
      op.host = now_.life->host;
      if (op.kind == OpKind::kHostFn) told_host_functions_[one.op.id] = op.id;
      if (op.kind != OpKind::kFree) op.stream = stream;
      if (op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync) TellGraphBlock(op);
      if (programmatic && op.kind == OpKind::kKernel && flat[i].node->function != 0) {
        const Function& function = functions_[flat[i].node->function];
        op.flags |= PdlFlags(function);
        if (TouchesBeforeItsWait(function)) counts_.Add(Count::kEarlyPdlAccesses);
      }
      if (op.kind == OpKind::kKernel && started[i] != 0) {
        op.flags |= kLaunchEvent;
        op.object = started[i];
      }
    }
    if (ended[i] != 0) link(OpKind::kEventRecord, stream, ended[i]);
  }
  Emit(OpKind::kCaptureEnd).object = exec.id;
  exec.told = true;
}

void Importer::State::TellGraphBlock(Op& alloc) {
  told_of_graphs_.insert(alloc.object);
  auto name = names_of_graphs_.find(alloc.object);
  if (name != names_of_graphs_.end()) alloc.name = name->second;
}

bool Importer::State::IsKernel(const GraphNode& node) const {
  return node.work.size() == 1 && node.work[0].op.kind == OpKind::kKernel;
}

bool Importer::State::GridWait(const GraphNode& node) {
  if (!IsKernel(node)) return true;
  if (node.work[0].op.flags & kPdl) return (node.work[0].op.flags & kPdlWait) != 0;
  if (node.function == 0) return true;  // launched without the attribute
  return (PdlFlags(functions_[node.function]) & kPdlWait) != 0;
}

}  // namespace ss
