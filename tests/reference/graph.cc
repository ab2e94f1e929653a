#include "tests/reference/graph.h"

#include <algorithm>

namespace ss::reference {

bool NodeSet::HasAll(const Nodes& nodes) const {
  return std::all_of(nodes.begin(), nodes.end(), [&](Node node) { return Has(node); });
}

bool NodeSet::Insert(Node node) {
  if (bits_[node] != 0) return false;
  bits_[node] = 1;
  return true;
}

Node Graph::Add() {
  incoming_.emplace_back();
  return static_cast<Node>(incoming_.size() - 1);
}

void Graph::Connect(Node from, Node to, EdgeKind kind, StorageId storage) {
  incoming_[to].push_back({from, kind, storage});
}

std::vector<Graph::Edge> Graph::TakeBack(Node to, size_t keep) {
  auto& edges = incoming_[to];
  std::vector<Edge> taken(edges.begin() + static_cast<std::ptrdiff_t>(keep), edges.end());
  edges.resize(keep);
  return taken;
}

bool Graph::Visible(const Edge& edge, View view) {
  if (edge.kind == EdgeKind::kReal) return true;
  if (edge.kind == EdgeKind::kIncidental) return view.incidental;
  return view.assumed != nullptr && view.assumed->count(edge.storage) != 0;
}

NodeSet Graph::Ancestors(const Nodes& targets, View view) const {
  NodeSet seen(size());
  Nodes todo;
  for (Node target : targets) {
    if (seen.Insert(target)) todo.push_back(target);
  }
  while (!todo.empty()) {
    const Node node = todo.back();
    todo.pop_back();
    for (const Edge& edge : incoming_[node]) {
      if (Visible(edge, view) && seen.Insert(edge.from)) todo.push_back(edge.from);
    }
  }
  return seen;
}

}  // namespace ss::reference
