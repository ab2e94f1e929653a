// An explicit happens-before graph: nodes, edges, and a backwards search. Nothing is shared with
// the engine, nothing is clever: an answer is whatever can be reached edge by edge, so that a wrong
// clock in the engine cannot be hidden by the same wrong clock here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace ss::reference {

using Node = uint32_t;
using Nodes = std::vector<Node>;
using StorageId = uint32_t;  // a tenancy's bytes, for the edges assumed for it; 0 = none

enum class EdgeKind : uint8_t {
  kReal,
  kIncidental,  // an implicit synchronisation that nobody may rely on (rules 9 and 16)
  kAssumed,     // put in after a finding, for one storage: the checker goes on as if it were there
};

// Which edges a question may use besides the real ones.
struct View {
  const std::set<StorageId>* assumed = nullptr;  // the assumed edges of these; null = none
  bool incidental = false;
};

class NodeSet {
 public:
  explicit NodeSet(size_t size) : bits_(size, 0) {}
  bool Has(Node node) const { return bits_[node] != 0; }
  bool HasAll(const Nodes& nodes) const;
  bool Insert(Node node);  // false where it was there already

 private:
  std::vector<uint8_t> bits_;
};

class Graph {
 public:
  Node Add();
  void Connect(Node from, Node to, EdgeKind kind = EdgeKind::kReal, StorageId storage = 0);
  // Takes away the latest edges into `to` and gives them back, `keep` of them staying.
  struct Edge {
    Node from = 0;
    EdgeKind kind = EdgeKind::kReal;
    StorageId storage = 0;
  };
  std::vector<Edge> TakeBack(Node to, size_t keep);
  const std::vector<Edge>& Into(Node to) const { return incoming_[to]; }
  size_t Incoming(Node to) const { return incoming_[to].size(); }
  // Every node from which one of `targets` can be reached, the targets themselves included.
  NodeSet Ancestors(const Nodes& targets, View view) const;
  size_t size() const { return incoming_.size(); }

 private:
  static bool Visible(const Edge& edge, View view);

  std::vector<std::vector<Edge>> incoming_;
};

}  // namespace ss::reference
