// Operations of several communicators that wait for each other in a circle: on each rank one comes
// before the other, and the ranks disagree.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "src/detect/joined.h"

namespace ss {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Tarjan's strongly connected components, without recursion: the component of each node.
std::vector<size_t> Components(const std::vector<std::vector<uint32_t>>& next) {
  constexpr size_t kUnseen = SIZE_MAX;
  const size_t count = next.size();
  std::vector<size_t> order(count, kUnseen), low(count), component(count, kUnseen), stack;
  size_t time = 0, components = 0;
  struct Frame {
    size_t node, at;
  };
  for (size_t root = 0; root < count; ++root) {
    if (order[root] != kUnseen) continue;
    std::vector<Frame> frames{{root, 0}};
    order[root] = low[root] = time++;
    stack.push_back(root);
    while (!frames.empty()) {
      Frame& frame = frames.back();
      size_t node = frame.node;
      if (frame.at != next[node].size()) {
        size_t child = next[node][frame.at++];
        if (order[child] == kUnseen) {
          order[child] = low[child] = time++;
          stack.push_back(child);
          frames.push_back({child, 0});
        } else if (component[child] == kUnseen) {
          low[node] = std::min(low[node], order[child]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[node]);
      if (low[node] != order[node]) continue;
      for (size_t member = kUnseen; member != node; stack.pop_back()) {
        member = stack.back();
        component[member] = components;
      }
      ++components;
    }
  }
  return component;
}

// A node is what is done together: the n-th operation of a communicator, the n-th message of a
// pair. Edges go from what is complete first.
class Graph {
 public:
  explicit Graph(const JoinedRanks& joined) : joined_(joined), nodes_of_(joined.ranks().size()) {
    for (uint32_t i = 0; i < nodes_of_.size(); ++i) {
      nodes_of_[i].resize(joined.ranks()[i].calls.size(), kNone);
    }
    const auto& comms = joined.comms();
    for (uint32_t comm = 0; comm < comms.size(); ++comm) {
      if (!comms[comm].whole || comms[comm].members.size() < 2) continue;
      std::vector<uint32_t> sequence;
      for (const JoinedComm::Member& member : comms[comm].members) {
        Place(comm, false, member.calls, sequence);
      }
      for (size_t n = 1; n < sequence.size(); ++n) Link(sequence[n - 1], sequence[n]);
      for (const auto& [ends, channel] : comms[comm].channels) {
        std::vector<uint32_t> messages;
        Place(comm, true, channel.sends, messages);
        Place(comm, true, channel.receives, messages);
      }
    }
    for (uint32_t rank = 0; rank < nodes_of_.size(); ++rank) LinkRank(rank);
  }

  std::vector<Circle> Circles() const {
    const std::vector<size_t> component = Components(next_);
    std::unordered_map<size_t, std::set<uint32_t>> comms;
    std::unordered_map<size_t, std::pair<size_t, bool>> sizes;  // nodes, with messages among them
    for (size_t node = 0; node < nodes_.size(); ++node) {
      auto& [size, messages] = sizes[component[node]];
      ++size;
      messages |= nodes_[node].message;
      comms[component[node]].insert(nodes_[node].comm);
    }
    std::vector<Circle> circles;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      auto [size, messages] = sizes[component[i]];
      // Within one communicator the order is compared as such.
      if (size < 2 || node.calls < 2) continue;
      if (comms[component[i]].size() < 2 && !messages) continue;
      Circle circle{node.comm, node.first, node.second, {}, messages};
      for (uint32_t comm : comms[component[i]]) {
        if (comm != node.comm) circle.others.push_back(comm);
      }
      circles.push_back(std::move(circle));
    }
    return circles;
  }

 private:
  struct Node {
    uint32_t comm = 0;
    uint32_t calls = 0;
    bool message = false;
    CallRef first, second;
  };

  // One more rank's calls, the n-th to node `ids`[n].
  void Place(uint32_t comm, bool message, const Sequence& calls, std::vector<uint32_t>& ids) {
    for (size_t n = 0; n < calls.size(); ++n) {
      if (n == ids.size()) {
        ids.push_back(static_cast<uint32_t>(nodes_.size()));
        nodes_.push_back({comm, 0, message, {}, {}});
        next_.emplace_back();
      }
      Node& node = nodes_[ids[n]];
      if (node.calls == 0) node.first = calls[n];
      if (node.calls == 1) node.second = calls[n];
      ++node.calls;
      nodes_of_[calls[n].rank][calls[n].call] = ids[n];
    }
  }

  void Link(uint32_t from, uint32_t to) {
    std::vector<uint32_t>& next = next_[from];
    if (from == to || std::find(next.begin(), next.end(), to) != next.end()) return;
    next.push_back(to);
  }

  void LinkRank(uint32_t rank) {
    const RankCalls& its = joined_.ranks()[rank];
    for (uint32_t op = 0; op < its.ops.size(); ++op) LinkBefore(rank, op, its.ops[op]);
  }

  // What is of the same group goes on together: what matters is what the group starts after.
  void LinkBefore(uint32_t rank, uint32_t op, const CollectiveOp& before) {
    const RankCalls& its = joined_.ranks()[rank];
    const uint64_t group = its.ops[op].group;
    for (uint32_t i = 0; i < before.after_count; ++i) {
      const uint32_t other = its.after[before.after_begin + i];
      if (group != 0 && its.ops[other].group == group) {
        LinkBefore(rank, op, its.ops[other]);
        continue;
      }
      ForEachNode(rank, other, [&](uint32_t from) {
        ForEachNode(rank, op, [&](uint32_t to) { Link(from, to); });
      });
    }
  }

  // The calls of an operation stand together.
  template <typename F>
  void ForEachNode(uint32_t rank, uint32_t op, F f) {
    const std::vector<CollectiveCall>& calls = joined_.ranks()[rank].calls;
    auto at = std::lower_bound(calls.begin(), calls.end(), op,
                               [](const CollectiveCall& call, uint32_t o) { return call.op < o; });
    for (; at != calls.end() && at->op == op; ++at) {
      const uint32_t node = nodes_of_[rank][at - calls.begin()];
      if (node != kNone) f(node);
    }
  }

  const JoinedRanks& joined_;
  std::vector<Node> nodes_;
  std::vector<std::vector<uint32_t>> next_;
  std::vector<std::vector<uint32_t>> nodes_of_;  // by rank and call
};

}  // namespace

std::vector<Circle> FindCircles(const JoinedRanks& joined) { return Graph(joined).Circles(); }

}  // namespace ss
