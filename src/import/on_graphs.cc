// Records about graphs: capture, nodes, executable graphs and their launches (rule 14).
#include <algorithm>
#include <limits>

#include "src/import/state.h"

namespace ss {
namespace {

constexpr uint64_t kOwnNumber = uint64_t{1} << 63;  // no handle has it
constexpr uint64_t kEndOfTime = std::numeric_limits<uint64_t>::max();

class Collector final : public ImportSink {
 public:
  void OnOp(const Op& op, std::span<const Access> accesses) override {
    ops.push_back({op, {accesses.begin(), accesses.end()}});
  }
  std::vector<NodeOp> ops;
};

bool IsWork(const Op& op) {
  switch (op.kind) {
    case OpKind::kStreamCreate:
    case OpKind::kStreamDestroy:
    case OpKind::kHostBegin:
    case OpKind::kEventDestroy:
    case OpKind::kBufferName:
      return false;
    default:
      return true;
  }
}

}  // namespace

// --- building
// -------------------------------------------------------------------------------------

void Importer::State::BeginBuilding() {
  building_ = true;
  std::swap(held_, node_ops_);
}

// What the handlers made meanwhile. What is no work (a stream that was first seen) goes on as
// usual.
std::vector<NodeOp> Importer::State::EndBuilding() {
  Collector made;
  held_.Release(kEndOfTime, made);
  std::swap(held_, node_ops_);
  building_ = false;
  std::vector<NodeOp> work;
  for (NodeOp& one : made.ops) {
    if (IsWork(one.op)) {
      work.push_back(std::move(one));
    } else {
      PushAgain(one);
    }
  }
  return work;
}

void Importer::State::PushAgain(const NodeOp& one) {
  Op& op = held_.Push(now_.before, now_.after, now_ns_);
  const uint32_t begin = op.access_begin;
  op = one.op;
  op.id = ++last_op_;
  op.access_begin = begin;
  op.access_count = 0;
  for (const Access& access : one.accesses) held_.AddAccess(access);
}

OpenCapture* Importer::State::CaptureOf(StreamId stream) {
  auto it = capturing_.find(stream);
  return it == capturing_.end() ? nullptr : it->second.get();
}

GraphBody* Importer::State::BodyOf(uint64_t graph) {
  auto it = graphs_.find(graph);
  return it == graphs_.end() ? nullptr : &it->second;
}

// The node where a record's work belongs; null where nothing is known of it.
GraphNode* Importer::State::NodeFor(uint64_t stream, uint64_t context, uint64_t node,
                                    uint64_t exec) {
  if (exec != 0) {
    auto it = executables_.find(exec);
    GraphNode* known = it == executables_.end() ? nullptr : it->second.body.Find(node);
    if (known != nullptr) {
      it->second.told = false;
    } else {
      counts_.Add(Count::kUnknownGraphs);
    }
    return known;
  }
  if (stream == 0) return &NodeByHand(node);
  OpenCapture* capture = CaptureOf(StreamOf(stream, context).id);
  if (capture == nullptr) {
    counts_.Add(Count::kUnknownGraphs);
    return nullptr;
  }
  return &AddCaptured(*capture, StreamOf(stream, context).id, node);
}

// Its work is told before the graph that it belongs to.
GraphNode& Importer::State::NodeByHand(uint64_t node) {
  auto home = node_graphs_.find(node);
  GraphNode* known = home == node_graphs_.end() ? nullptr : graphs_[home->second].Find(node);
  if (known != nullptr) return *known;
  GraphNode& fresh = orphans_[node];
  fresh.handle = node;
  return fresh;
}

GraphNode& Importer::State::AddNode(uint64_t graph, GraphNode node) {
  GraphBody& body = graphs_[graph];
  // What a capture came from may be of a graph that was made again since.
  std::erase_if(node.after,
                [&](const GraphNode::Before& before) { return before.node >= body.nodes.size(); });
  body.position[node.handle] = static_cast<uint32_t>(body.nodes.size());
  if (node.handle != 0) node_graphs_[node.handle] = graph;
  body.nodes.push_back(std::move(node));
  return body.nodes.back();
}

GraphNode& Importer::State::AddCaptured(OpenCapture& capture, StreamId stream, uint64_t handle) {
  GraphNode node;
  node.handle = handle > 1 ? handle : ++own_numbers_ | kOwnNumber;
  node.home = stream;
  OpenCapture::Frontier& frontier = capture.streams[stream];
  node.after = frontier;
  GraphNode& added = AddNode(capture.graph, std::move(node));
  frontier = {{static_cast<uint32_t>(graphs_[capture.graph].nodes.size() - 1), false}};
  return added;
}

// A block that an allocator hands out or takes back while its stream captures.
void Importer::State::AddBookkeeping(OpenCapture& capture, StreamId stream) {
  std::vector<NodeOp> made = EndBuilding();
  for (NodeOp& one : made) {
    const bool alloc = one.op.kind == OpKind::kAlloc;
    if (alloc) capture.blocks.insert(one.op.object);
    if (!capture.blocks.contains(one.op.object)) {
      PushAgain(one);
      continue;
    }
    GraphNode node;
    node.home = stream;
    node.work.push_back(std::move(one));
    graphs_[capture.graph].nodes.push_back(std::move(node));
  }
}

// --- capture
// --------------------------------------------------------------------------------------

void Importer::State::On(const trace::CaptureBegin& record) {
  if (Failed(record.result)) return;
  const StreamLife stream = StreamOf(record.stream, record.context);
  auto capture = std::make_shared<OpenCapture>();
  capture->graph = record.graph != 0 ? record.graph : ++own_numbers_ | kOwnNumber;
  GraphBody& body = graphs_[capture->graph];
  if (body.origin == 0) body.origin = stream.id;
  OpenCapture::Frontier& frontier = capture->streams[stream.id];
  for (uint64_t handle : record.nodes) {
    if (auto at = body.position.find(handle); at != body.position.end())
      frontier.push_back({at->second, false});
  }
  capturing_[stream.id] = std::move(capture);
}

void Importer::State::On(const trace::CaptureEnd& record) {
  const StreamLife stream = StreamOf(record.stream, record.context);
  auto found = capturing_.find(stream.id);
  if (found == capturing_.end()) return;
  const std::shared_ptr<OpenCapture> capture = found->second;
  std::erase_if(capturing_, [&](const auto& entry) { return entry.second == capture; });
  if (Failed(record.result) || record.graph == 0) {
    graphs_.erase(capture->graph);
  } else if (record.graph != capture->graph) {  // the driver had not said which one it would be
    for (const GraphNode& node : graphs_[capture->graph].nodes)
      node_graphs_[node.handle] = record.graph;
    graphs_[record.graph] = std::move(graphs_[capture->graph]);
    graphs_.erase(capture->graph);
  }
}

void Importer::State::On(const trace::CaptureDependencies& record) {
  if (Failed(record.result)) return;
  const StreamId stream = StreamOf(record.stream, record.context).id;
  OpenCapture* capture = CaptureOf(stream);
  if (capture == nullptr) return counts_.Add(Count::kUnknownGraphs);
  const GraphBody& body = graphs_[capture->graph];
  OpenCapture::Frontier& frontier = capture->streams[stream];
  OpenCapture::Frontier stated;
  for (uint64_t handle : record.nodes) {
    auto at = body.position.find(handle);
    if (at != body.position.end()) {
      stated.push_back({at->second, false});
    } else {
      counts_.Add(Count::kUnknownGraphs);
    }
  }
  if (record.replaces != 0) frontier.clear();
  frontier.insert(frontier.end(), stated.begin(), stated.end());
}

void Importer::State::CaptureRecord(const trace::EventRecord& record) {
  const StreamId stream = StreamOf(record.stream, record.context).id;
  OpenCapture* capture = CaptureOf(stream);
  if (capture == nullptr) return counts_.Add(Count::kUnknownGraphs);
  const EventId event = EventOf(record.event, record.context);
  for (const auto& [member, open] : capturing_) open->events.erase(event);  // the latest one counts
  capture->events[event] = capture->streams[stream];
}

void Importer::State::CaptureWait(const trace::StreamWaitEvent& record) {
  const StreamId stream = StreamOf(record.stream, record.context).id;
  const EventId event = EventOf(record.event, record.context);
  std::shared_ptr<OpenCapture> capture;
  for (const auto& [member, open] : capturing_) {
    if (open->events.contains(event)) capture = open;
  }
  if (capture == nullptr) return counts_.Add(Count::kUnknownGraphs);
  capturing_[stream] = capture;
  OpenCapture::Frontier& frontier = capture->streams[stream];
  for (const GraphNode::Before& before : capture->events[event]) frontier.push_back(before);
}

// --- graphs
// ---------------------------------------------------------------------------------------

void Importer::State::On(const trace::GraphCreate& record) { graphs_[record.graph] = {}; }

void Importer::State::On(const trace::GraphDestroy& record) {
  auto found = graphs_.find(record.graph);
  if (found == graphs_.end()) return;
  for (const GraphNode& node : found->second.nodes) node_graphs_.erase(node.handle);
  graphs_.erase(found);
}

void Importer::State::On(const trace::GraphNode& record) {
  if (BodyOf(record.graph) == nullptr) counts_.Add(Count::kUnknownGraphs);  // a child in its parent
  GraphNode node;
  if (auto orphan = orphans_.find(record.node); orphan != orphans_.end()) {
    node = std::move(orphan->second);
    orphans_.erase(orphan);
  }
  node.handle = record.node;
  if (record.child != 0) node.child = CopyOf(record.child);
  AddNode(record.graph, std::move(node));
}

std::shared_ptr<const GraphBody> Importer::State::CopyOf(uint64_t graph) {
  const GraphBody* body = BodyOf(graph);
  if (body == nullptr) counts_.Add(Count::kUnknownGraphs);
  return std::make_shared<GraphBody>(body == nullptr ? GraphBody{} : *body);
}

// Its neighbours lose their edges to it.
void Importer::State::On(const trace::GraphNodeEnd& record) {
  auto home = node_graphs_.find(record.node);
  GraphBody* known = home == node_graphs_.end() ? nullptr : BodyOf(home->second);
  // A graph that was made again since has no such node.
  if (known == nullptr || known->Find(record.node) == nullptr)
    return counts_.Add(Count::kUnknownGraphs);
  GraphBody& body = *known;
  const uint32_t at = body.position[record.node];
  for (GraphNode& node : body.nodes) {
    std::erase_if(node.after, [&](const GraphNode::Before& before) { return before.node == at; });
  }
  body.nodes[at] = {};
  body.nodes[at].gone = true;
  body.position.erase(record.node);
  node_graphs_.erase(home);
}

void Importer::State::On(const trace::GraphEdges& record) {
  for (size_t i = 0; i + 2 < record.edges.size(); i += 3) {
    const uint64_t from = record.edges[i], to = record.edges[i + 1];
    auto home = node_graphs_.find(to);
    GraphBody* body = home == node_graphs_.end() ? nullptr : BodyOf(home->second);
    const auto before =
        body == nullptr ? decltype(body->position.end()){} : body->position.find(from);
    if (body == nullptr || before == body->position.end()) {
      counts_.Add(Count::kUnknownGraphs);
      continue;
    }
    GraphNode* const target = body->Find(to);
    if (target == nullptr) {
      counts_.Add(Count::kUnknownGraphs);
      continue;
    }
    GraphNode& node = *target;
    if (record.removed != 0) {
      std::erase_if(node.after,
                    [&](const GraphNode::Before& b) { return b.node == before->second; });
    } else {
      node.after.push_back({before->second, record.edges[i + 2] != 0});
    }
  }
}

void Importer::State::On(const trace::GraphClone& record) {
  GraphBody copy = *CopyOf(record.graph);
  std::unordered_map<uint64_t, uint64_t> renamed;
  for (size_t i = 0; i + 1 < record.nodes.size(); i += 2)
    renamed[record.nodes[i]] = record.nodes[i + 1];
  copy.position.clear();
  for (uint32_t i = 0; i < copy.nodes.size(); ++i) {
    GraphNode& node = copy.nodes[i];
    if (node.handle == 0 || node.gone) continue;
    auto other = renamed.find(node.handle);
    node.handle = other != renamed.end() ? other->second : ++own_numbers_ | kOwnNumber;
    copy.position[node.handle] = i;
    node_graphs_[node.handle] = record.clone;
  }
  graphs_[record.clone] = std::move(copy);
}

// --- executable graphs
// ----------------------------------------------------------------------------

void Importer::State::On(const trace::GraphInstantiate& record) {
  if (Failed(record.result)) return;
  if (auto old = executables_.find(record.exec); old != executables_.end()) EndExecutable(old);
  ExecutableGraph& exec = executables_[record.exec];
  exec.id = ++executables_made_;
  exec.name = strings_.Intern("graph#" + std::to_string(exec.id));
  exec.body = *CopyOf(record.graph);
}

// Its nodes are still known by the handles of the graph that it was made from: they pair in order.
// A node that was switched off stays so.
void Importer::State::On(const trace::GraphExecUpdate& record) {
  if (Failed(record.result)) return;
  auto found = executables_.find(record.exec);
  if (found == executables_.end()) return counts_.Add(Count::kUnknownGraphs);
  ExecutableGraph& exec = found->second;
  GraphBody body = *CopyOf(record.graph);
  std::vector<const GraphNode*> known;
  for (const GraphNode& node : exec.body.nodes) {
    if (node.handle != 0) known.push_back(&node);
  }
  body.position.clear();
  size_t next = 0;
  for (uint32_t i = 0; i < body.nodes.size(); ++i) {
    GraphNode& node = body.nodes[i];
    if (node.handle == 0) continue;
    if (next < known.size()) {
      node.enabled = known[next]->enabled;
      node.handle = known[next++]->handle;
    }
    body.position[node.handle] = i;
  }
  exec.body = std::move(body);
  exec.told = false;
}

void Importer::State::EndExecutable(std::unordered_map<uint64_t, ExecutableGraph>::iterator it) {
  Emit(OpKind::kGraphDestroy).object = it->second.id;
  executables_.erase(it);
}

void Importer::State::On(const trace::GraphExecDestroy& record) {
  auto found = executables_.find(record.exec);
  if (found == executables_.end()) return counts_.Add(Count::kUnknownGraphs);
  EndExecutable(found);
}

void Importer::State::On(const trace::GraphNodeChange& record) {
  GraphNode* node =
      record.exec != 0 ? NodeFor(0, 0, record.node, record.exec) : &NodeByHand(record.node);
  if (node == nullptr) return;
  node->enabled = record.enabled != 0;
  if (record.child != 0) node->child = CopyOf(record.child);
}

void Importer::State::On(const trace::GraphLaunch& record) {
  if (Failed(record.result)) return;
  auto found = executables_.find(record.exec);
  if (found == executables_.end()) return counts_.Add(Count::kUnknownGraphs);
  ExecutableGraph& exec = found->second;
  if (record.graph_node != 0) {  // becomes a node of the graph that is being captured
    GraphNode* node = NodeFor(record.stream, record.context, record.graph_node, 0);
    if (node != nullptr) node->child = std::make_shared<GraphBody>(exec.body);
    return;
  }
  const StreamLife stream = StreamOf(record.stream, record.context);
  if (!exec.told) TellGraph(exec, stream);
  ReviveBlocks(exec.body);
  Op& op = EmitOn(OpKind::kGraphLaunch, stream, record.stack);
  op.object = exec.id;
  op.name = exec.name;
  CheckOverlap(op, Queues(stream));
}

// What a launch allocates and the program frees afterwards is there again with the next launch.
void Importer::State::ReviveBlocks(const GraphBody& body) {
  for (const GraphNode& node : body.nodes) {
    if (node.child) ReviveBlocks(*node.child);
    for (const NodeOp& one : node.work) {
      if (one.op.kind != OpKind::kAllocAsync || one.accesses.empty()) continue;
      const auto kept = graph_blocks_.find(one.op.object);
      if (kept == graph_blocks_.end()) continue;
      const Block& was = kept->second;
      blocks_.clear();
      memory_.OverlappingDriver(was.begin, was.end, blocks_);
      if (!blocks_.empty()) continue;
      Block& block = *memory_.AddDriver(was.begin, was.end);
      const uint64_t stamp = block.stamp;
      block = was;
      block.stamp = stamp;
    }
  }
}

}  // namespace ss
