// Graphs as objects, executable graphs, launches.
#include "api_graph.h"

using namespace ss::vgpu;

namespace {

CUresult Edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count,
               bool add) {
  VGPU_ENTER(call);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!graph || (count && (!from || !to))) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    for (const CUgraphNode node : {from[i], to[i]}) {
      if (!IsNode(call, NodeOf(node)) || NodeOf(node)->graph != graph) {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    auto& after = NodeOf(to[i])->after;
    const auto known = std::find(after.begin(), after.end(), NodeOf(from[i]));
    if (add == (known != after.end())) return CUDA_ERROR_INVALID_VALUE;
    if (add) {
      after.push_back(NodeOf(from[i]));
    } else {
      after.erase(known);
    }
  }
  return CUDA_SUCCESS;
}

CUresult Instantiate(CUgraphExec* out, CUgraph handle) {
  VGPU_ENTER(call);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!out || !graph) return CUDA_ERROR_INVALID_VALUE;
  bool circle = false;
  Sorted(*graph, &circle);
  if (circle) return CUDA_ERROR_INVALID_VALUE;
  auto exec = std::make_unique<ExecutableGraph>();
  exec->body = CopyOf(*graph);
  exec->body->embedded = true;
  *out = reinterpret_cast<CUgraphExec>(call.machine.executables.Add(std::move(exec)));
  return CUDA_SUCCESS;
}

// Same nodes, same edges, in the same order of making.
bool Alike(const Graph& a, const Graph& b) {
  auto place = [](const Graph& graph, const GraphNode* node) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                        [&](const auto& one) { return one.get() == node; }) -
           graph.nodes.begin();
  };
  if (a.nodes.size() != b.nodes.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const GraphNode &one = *a.nodes[i], &other = *b.nodes[i];
    if (one.type != other.type || one.after.size() != other.after.size()) return false;
    for (size_t k = 0; k < one.after.size(); ++k) {
      if (place(a, one.after[k]) != place(b, other.after[k])) return false;
    }
    if (one.child && (!other.child || !Alike(*one.child, *other.child))) return false;
  }
  return true;
}

CUresult Update(CUgraphExec exec_handle, CUgraph handle, CUgraphNode* error,
                CUgraphExecUpdateResult* result) {
  VGPU_ENTER(call);
  ExecutableGraph* exec = call.machine.executables.Find(exec_handle);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!exec || !graph) return CUDA_ERROR_INVALID_VALUE;
  const bool alike = Alike(*exec->body, *graph);
  if (error) *error = nullptr;
  if (result) {
    *result = alike ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  if (!alike) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  auto body = CopyOf(*graph);
  for (size_t i = 0; i < body->nodes.size(); ++i) {
    body->nodes[i]->original = exec->body->nodes[i]->original;  // still known by the first graph's
    body->nodes[i]->enabled = exec->body->nodes[i]->enabled;
  }
  exec->body = std::move(body);
  return CUDA_SUCCESS;
}

// Queues the graph's nodes behind `fork`; gives those that nothing comes after.
std::vector<OpPtr> Queue(Call& call, const Graph& graph, Context* context,
                         const std::vector<OpPtr>& fork) {
  bool circle = false;
  std::unordered_map<const GraphNode*, std::vector<OpPtr>> ends;
  std::set<const GraphNode*> followed;
  const std::vector<GraphNode*> order = Sorted(graph, &circle);
  for (const GraphNode* node : order) {
    std::vector<OpPtr> after = node->after.empty() ? fork : std::vector<OpPtr>{};
    for (const GraphNode* before : node->after) {
      followed.insert(before);
      after.insert(after.end(), ends[before].begin(), ends[before].end());
    }
    if (node->child && node->enabled) {
      ends[node] = Queue(call, *node->child, context, after);
      continue;
    }
    NewOp op = node->enabled ? node->work : NewOp{Work::kMarker, "disabled node"};
    op.after = after;
    if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && node->event->record) {
      op.after.push_back(node->event->record);
    }
    Stream* own = call.machine.AddStream(context, StreamKind::kNonBlocking, 0);
    const OpPtr queued = call.machine.Issue(*own, std::move(op));
    call.machine.RemoveStream(own);
    if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) node->event->record = queued;
    ends[node] = {queued};
  }
  std::vector<OpPtr> last;
  for (const GraphNode* node : order) {
    if (!followed.contains(node)) last.insert(last.end(), ends[node].begin(), ends[node].end());
  }
  return last.empty() ? fork : last;
}

CUresult Launch(CUgraphExec exec_handle, CUstream handle, DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  ExecutableGraph* exec = call.machine.executables.Find(exec_handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = Implicit(*stream)) return error;
  if (stream->capture) {
    GraphNode* node = CaptureNode(*stream, CU_GRAPH_NODE_TYPE_GRAPH);
    node->child = CopyOf(*exec->body);
    return CUDA_SUCCESS;
  }
  NewOp begin{Work::kMarker, "graph"};
  if (exec->last) begin.after.push_back(exec->last);
  const OpPtr fork = call.machine.Issue(*stream, std::move(begin));
  NewOp end{Work::kMarker, "end of graph"};
  end.after = Queue(call, *exec->body, stream->context, {fork});
  exec->last = call.machine.Issue(*stream, std::move(end));
  call.machine.HostStep(call.lock);
  return CUDA_SUCCESS;
}

}  // namespace

GraphNode* ss::vgpu::NodeOf(CUgraphNode node) { return reinterpret_cast<GraphNode*>(node); }

bool ss::vgpu::IsNode(Call& call, const GraphNode* node) {
  bool found = false;
  auto look = [&](const Graph& graph) {
    for (const auto& one : graph.nodes) found = found || one.get() == node;
  };
  call.machine.graphs.Each([&](Graph& graph) { look(graph); });
  for (const auto& capture : call.machine.captures) look(*capture->graph);
  return found;
}

VGPU_EXPORT cuGraphCreate(CUgraph* graph, unsigned int flags) {
  VGPU_ENTER(call);
  if (!graph || flags) return CUDA_ERROR_INVALID_VALUE;
  *graph = reinterpret_cast<CUgraph>(call.machine.graphs.Add(std::make_unique<Graph>()));
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuGraphDestroy(CUgraph handle) {
  VGPU_ENTER(call);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  call.machine.graphs.Remove(graph);
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuGraphDestroyNode(CUgraphNode handle) {
  VGPU_ENTER(call);
  GraphNode* node = NodeOf(handle);
  if (!IsNode(call, node)) return CUDA_ERROR_INVALID_VALUE;
  auto& nodes = node->graph->nodes;
  for (const auto& other : nodes) std::erase(other->after, node);
  std::erase_if(nodes, [&](const auto& one) { return one.get() == node; });
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuGraphClone(CUgraph* clone, CUgraph handle) {
  VGPU_ENTER(call);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!clone || !graph) return CUDA_ERROR_INVALID_VALUE;
  *clone = reinterpret_cast<CUgraph>(call.machine.graphs.Add(CopyOf(*graph)));
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph handle) {
  VGPU_ENTER(call);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!out || !graph) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : graph->nodes) {
    if (node->original != NodeOf(original)) continue;
    *out = reinterpret_cast<CUgraphNode>(node.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
VGPU_EXPORT cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  VGPU_ENTER(call);
  const Graph* graph = call.machine.graphs.Find(handle);
  if (!graph || !count) return CUDA_ERROR_INVALID_VALUE;
  if (nodes) {
    for (size_t i = 0; i < std::min(*count, graph->nodes.size()); ++i) {
      nodes[i] = reinterpret_cast<CUgraphNode>(graph->nodes[i].get());
    }
  }
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  VGPU_ENTER(call);
  if (!type || !IsNode(call, NodeOf(handle))) return CUDA_ERROR_INVALID_VALUE;
  *type = NodeOf(handle)->type;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuGraphNodeSetEnabled(CUgraphExec exec_handle, CUgraphNode handle,
                                  unsigned int enabled) {
  VGPU_ENTER(call);
  ExecutableGraph* exec = call.machine.executables.Find(exec_handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : exec->body->nodes) {
    if (node->original != NodeOf(handle)) continue;
    const bool can = node->type == CU_GRAPH_NODE_TYPE_KERNEL ||
                     node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                     node->type == CU_GRAPH_NODE_TYPE_MEMSET;
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    node->enabled = enabled != 0;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
VGPU_EXPORT cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return Edges(graph, from, to, count, true);
}
VGPU_EXPORT cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return Edges(graph, from, to, count, true);
}
VGPU_EXPORT cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      size_t count) {
  return Edges(graph, from, to, count, false);
}
VGPU_EXPORT cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                         const CUgraphNode* to, const CUgraphEdgeData*,
                                         size_t count) {
  return Edges(graph, from, to, count, false);
}

#undef cuGraphInstantiate
VGPU_EXPORT cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return Instantiate(exec, graph);
}
VGPU_EXPORT cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return Instantiate(exec, graph);
}
VGPU_EXPORT cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return Instantiate(exec, graph);
}
VGPU_STREAM_EXPORT(cuGraphInstantiateWithParams, _ptsz,
                   (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS*),
                   ((void)kDefault, Instantiate(exec, graph)))
#undef cuGraphExecUpdate
VGPU_EXPORT cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error,
                              CUgraphExecUpdateResult* result) {
  return Update(exec, graph, error, result);
}
VGPU_EXPORT cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                 CUgraphExecUpdateResultInfo* info) {
  return Update(exec, graph, info ? &info->errorNode : nullptr, info ? &info->result : nullptr);
}
VGPU_EXPORT cuGraphExecDestroy(CUgraphExec handle) {
  VGPU_ENTER(call);
  const ExecutableGraph* exec = call.machine.executables.Find(handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  call.machine.executables.Remove(exec);
  return CUDA_SUCCESS;
}
VGPU_STREAM_EXPORT(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream),
                   Launch(exec, stream, kDefault))
static CUresult Upload(CUgraphExec handle) {
  VGPU_ENTER(call);
  return call.machine.executables.Find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
VGPU_STREAM_EXPORT(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream),
                   ((void)kDefault, Upload(exec)))
