#include "graph.h"

#include <algorithm>
#include <unordered_map>

namespace ss::vgpu {

GraphNode* AddTo(Graph& graph, CUgraphNodeType type, Context* context) {
  auto node = std::make_unique<GraphNode>();
  node->type = type;
  node->graph = &graph;
  node->context = context;
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

std::unique_ptr<Graph> CopyOf(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : graph.nodes) {
    GraphNode* made = AddTo(*copy, node->type, node->context);
    copies[node.get()] = made;
    made->work = node->work;
    made->event = node->event;
    made->address = node->address;
    made->enabled = node->enabled;
    made->original = node.get();
    if (node->child) {
      made->child = CopyOf(*node->child);
      made->child->embedded = true;
    }
  }
  for (const auto& node : graph.nodes) {
    for (GraphNode* before : node->after) copies[node.get()]->after.push_back(copies[before]);
  }
  return copy;
}

std::vector<GraphNode*> Sorted(const Graph& graph, bool* circle) {
  std::vector<GraphNode*> order;
  std::unordered_map<const GraphNode*, bool> placed;
  *circle = false;
  while (order.size() < graph.nodes.size()) {
    const size_t before = order.size();
    for (const auto& node : graph.nodes) {
      if (placed[node.get()]) continue;
      const bool ready = std::all_of(node->after.begin(), node->after.end(),
                                     [&](const GraphNode* other) { return placed[other]; });
      if (!ready) continue;
      placed[node.get()] = true;
      order.push_back(node.get());
    }
    if (order.size() == before) {
      *circle = true;
      return order;
    }
  }
  return order;
}

}  // namespace ss::vgpu
