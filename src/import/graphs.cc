#include "src/import/graphs.h"

#include <algorithm>

namespace ss {
namespace {

using Befores = std::vector<GraphNode::Before>;

void AddOnce(Befores& list, GraphNode::Before before) {
  for (GraphNode::Before& known : list) {
    if (known.node != before.node) continue;
    known.start = known.start && before.start;  // the stronger edge is the one that holds
    return;
  }
  list.push_back(before);
}

// Nodes in an order that every edge agrees with, as close to the order of their making as possible.
// A captured graph is in such an order already.
std::vector<uint32_t> Sorted(const GraphBody& body) {
  std::vector<uint32_t> order;
  std::vector<uint8_t> state(body.nodes.size(), 0);  // 1 = on the way, 2 = placed
  std::vector<std::pair<uint32_t, size_t>> path;
  for (uint32_t first = 0; first < body.nodes.size(); ++first) {
    if (state[first] == 0) path.emplace_back(first, 0);
    state[first] = std::max<uint8_t>(state[first], 1);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const Befores& after = body.nodes[node].after;
      if (next == after.size()) {
        if (state[node] == 1) order.push_back(node);
        state[node] = 2;
        path.pop_back();
        continue;
      }
      const uint32_t before = after[next++].node;
      if (state[before] != 0) continue;  // placed, or a circle, which the driver refuses
      state[before] = 1;
      path.emplace_back(before, 0);
    }
  }
  return order;
}

class Flattener {
 public:
  // Appends the body's work behind `entry`; gives what stands for its completion.
  Befores Add(const GraphBody& body, const Befores& entry) {
    std::vector<Befores> exits(body.nodes.size());
    std::vector<bool> followed(body.nodes.size(), false);
    for (uint32_t at : Sorted(body)) {
      const GraphNode& node = body.nodes[at];
      if (node.gone) continue;
      Befores after = node.handle == 0 ? Befores{} : entry;
      for (const GraphNode::Before& before : node.after) {
        followed[before.node] = true;
        for (GraphNode::Before exit : exits[before.node]) {
          exit.start = exit.start || before.start;
          AddOnce(after, exit);
        }
      }
      exits[at] = Place(node, std::move(after));
    }
    Befores all;
    bool any = false;
    for (size_t at = 0; at < body.nodes.size(); ++at) {
      const GraphNode& node = body.nodes[at];
      if (node.gone || node.handle == 0 || followed[at]) continue;
      any = true;
      for (const GraphNode::Before& exit : exits[at]) AddOnce(all, exit);
    }
    return any ? all : entry;
  }

  std::vector<FlatNode> Take() { return std::move(flat_); }

 private:
  Befores Place(const GraphNode& node, Befores after) {
    if (node.child && node.enabled) return Add(*node.child, after);
    if (node.work.empty() || !node.enabled) return after;
    flat_.push_back({&node, std::move(after)});
    return {{static_cast<uint32_t>(flat_.size() - 1), false}};
  }

  std::vector<FlatNode> flat_;
};

}  // namespace

std::vector<FlatNode> Flatten(const GraphBody& body) {
  Flattener flattener;
  flattener.Add(body, {});
  return flattener.Take();
}

}  // namespace ss
