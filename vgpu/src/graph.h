// Graphs and stream capture. A node is an operation that has not been queued yet; a launch queues
// the nodes, each on a stream of its own, between a marker that forks and one that joins.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "objects.h"

namespace ss::vgpu {

struct Graph;

struct GraphNode {
  CUgraphNodeType type{};
  Graph* graph = nullptr;
  Context* context = nullptr;
  NewOp work;  // `after` is empty
  std::vector<GraphNode*> after;
  Event* event = nullptr;               // record and wait nodes
  std::unique_ptr<Graph> child;         // child nodes
  uint64_t address = 0;                 // of memory nodes
  const GraphNode* original = nullptr;  // of a copy
  bool enabled = true;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;  // as they were made
  bool embedded = false;                          // belongs to a node or an executable graph
};

struct ExecutableGraph {
  std::unique_ptr<Graph> body;
  OpPtr last;  // end of the latest launch
};

// One capture, on the stream where it began and those that have joined.
struct Capture {
  uint64_t id = 0;
  Graph* graph = nullptr;
  std::unique_ptr<Graph> made;  // null: into a graph of the program's
  Stream* origin = nullptr;
  uint64_t thread = 0;
  CUstreamCaptureMode mode{};
  bool broken = false;
  std::set<Stream*> streams;
};

// Null when `graph` has no order in which it could run.
std::unique_ptr<Graph> CopyOf(const Graph& graph);
std::vector<GraphNode*> Sorted(const Graph& graph, bool* circle);
GraphNode* AddTo(Graph& graph, CUgraphNodeType type, Context* context);

}  // namespace ss::vgpu
