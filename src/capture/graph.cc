// Graphs that are built by hand, made executable, changed and launched.
#include "src/capture/graph.h"

#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

template <class Pointer>
uint64_t Id(Pointer pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

constexpr size_t kEdgesARecord = 512;

template <class From, class To>
void EmitEdges(Call& call, size_t count, const CUgraphEdgeData* data, bool removed, From from,
               To to) {
  uint64_t* words = call.thread->words;
  for (size_t begin = 0; begin < count; begin += kEdgesARecord) {
    size_t used = 0;
    for (size_t i = begin; i < count && i < begin + kEdgesARecord; ++i) {
      words[used++] = from(i);
      words[used++] = to(i);
      words[used++] = data ? data[i].from_port : 0;
    }
    call.Emit(trace::view::GraphEdges{.edges = {words, used}, .removed = removed});
  }
}

CUresult Instantiated(Call& call, CUgraph graph, CUgraphExec* exec, uint64_t flags, uint64_t stack,
                      CUresult result) {
  bool made = result == CUDA_SUCCESS && exec;
  call.Emit(trace::view::GraphInstantiate{.graph = Id(graph),
                                          .exec = made ? Id(*exec) : 0,
                                          .flags = flags,
                                          .result = result,
                                          .stack = stack});
  return result;
}

CUresult Edges(Call& call, const CUgraphNode* from, const CUgraphNode* to,
               const CUgraphEdgeData* data, size_t count, bool removed, CUresult result) {
  if (result != CUDA_SUCCESS) return result;
  EmitEdges(
      call, count, data, removed, [&](size_t i) { return Id(from[i]); },
      [&](size_t i) { return Id(to[i]); });
  return result;
}

}  // namespace

void NoteNode(Call& call, CUgraph graph, CUgraphNode node, const CUgraphNode* dependencies,
              const CUgraphEdgeData* data, size_t count, uint64_t kind, CUgraph child,
              uint64_t stack) {
  call.Emit(trace::view::GraphNode{
      .graph = Id(graph), .node = Id(node), .kind = kind, .child = Id(child), .stack = stack});
  EmitEdges(
      call, dependencies ? count : 0, data, false, [&](size_t i) { return Id(dependencies[i]); },
      [&](size_t) { return Id(node); });
}

CUresult GraphCreate(Call& call, CUgraph* graph, unsigned flags) {
  CUresult result = call.Forward(graph, flags);
  if (result == CUDA_SUCCESS) call.Emit(trace::view::GraphCreate{.graph = Id(*graph)});
  return result;
}

CUresult GraphDestroy(Call& call, CUgraph graph) {
  CUresult result = call.Forward(graph);
  if (result == CUDA_SUCCESS) call.Emit(trace::view::GraphDestroy{.graph = Id(graph)});
  return result;
}

CUresult GraphDestroyNode(Call& call, CUgraphNode node) {
  CUresult result = call.Forward(node);
  if (result == CUDA_SUCCESS) call.Emit(trace::view::GraphNodeEnd{.node = Id(node)});
  return result;
}

CUresult GraphAddDependencies(Call& call, CUgraph graph, const CUgraphNode* from,
                              const CUgraphNode* to, size_t count) {
  return Edges(call, from, to, nullptr, count, false, call.Forward(graph, from, to, count));
}
CUresult GraphAddDependenciesData(Call& call, CUgraph graph, const CUgraphNode* from,
                                  const CUgraphNode* to, const void* data, size_t count) {
  CUresult result = call.Forward(graph, from, to, data, count);
  return Edges(call, from, to, static_cast<const CUgraphEdgeData*>(data), count, false, result);
}
CUresult GraphRemoveDependencies(Call& call, CUgraph graph, const CUgraphNode* from,
                                 const CUgraphNode* to, size_t count) {
  return Edges(call, from, to, nullptr, count, true, call.Forward(graph, from, to, count));
}
CUresult GraphRemoveDependenciesData(Call& call, CUgraph graph, const CUgraphNode* from,
                                     const CUgraphNode* to, const void* data, size_t count) {
  CUresult result = call.Forward(graph, from, to, data, count);
  return Edges(call, from, to, nullptr, count, true, result);
}

CUresult GraphClone(Call& call, CUgraph* clone, CUgraph graph) {
  CUresult result = call.Forward(clone, graph);
  if (result != CUDA_SUCCESS) return result;
  constexpr size_t kMaxNodes = kMaxWords;  // pairs of words: the thread has room for as many
  const Driver& driver = TheDriver();
  uint64_t* words = call.thread->words;
  auto* nodes = reinterpret_cast<CUgraphNode*>(words + kMaxWords);
  size_t count = kMaxNodes, used = 0;
  bool known = driver.graph_get_nodes && driver.graph_find_in_clone &&
               driver.graph_get_nodes(graph, nodes, &count) == CUDA_SUCCESS;
  for (size_t i = 0; known && i < count && used + 2 <= kMaxWords; ++i) {
    CUgraphNode copy = nullptr;
    if (driver.graph_find_in_clone(&copy, nodes[i], *clone) != CUDA_SUCCESS) continue;
    words[used++] = Id(nodes[i]);
    words[used++] = Id(copy);
  }
  if (!known || used < 2 * count) CountGap(Gap::kManyDependencies);
  call.Emit(
      trace::view::GraphClone{.graph = Id(graph), .clone = Id(*clone), .nodes = {words, used}});
  return result;
}

CUresult GraphInstantiateLog(Call& call, CUgraphExec* exec, CUgraph graph, CUgraphNode* error,
                             char* log, size_t size) {
  uint64_t stack = call.Stack();
  return Instantiated(call, graph, exec, 0, stack, call.Forward(exec, graph, error, log, size));
}
CUresult GraphInstantiateFlags(Call& call, CUgraphExec* exec, CUgraph graph,
                               unsigned long long flags) {
  uint64_t stack = call.Stack();
  return Instantiated(call, graph, exec, flags, stack, call.Forward(exec, graph, flags));
}
CUresult GraphInstantiateParams(Call& call, CUgraphExec* exec, CUgraph graph,
                                CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(exec, graph, params);
  return Instantiated(call, graph, exec, params ? params->flags : 0, stack, result);
}

CUresult GraphExecDestroy(Call& call, CUgraphExec exec) {
  CUresult result = call.Forward(exec);
  if (result == CUDA_SUCCESS) call.Emit(trace::view::GraphExecDestroy{.exec = Id(exec)});
  return result;
}

CUresult GraphExecUpdate(Call& call, CUgraphExec exec, CUgraph graph, CUgraphNode* error,
                         void* update) {
  CUresult result = call.Forward(exec, graph, error, update);
  call.Emit(trace::view::GraphExecUpdate{.exec = Id(exec), .graph = Id(graph), .result = result});
  return result;
}
CUresult GraphExecUpdateInfo(Call& call, CUgraphExec exec, CUgraph graph, void* info) {
  CUresult result = call.Forward(exec, graph, info);
  call.Emit(trace::view::GraphExecUpdate{.exec = Id(exec), .graph = Id(graph), .result = result});
  return result;
}

CUresult GraphLaunch(Call& call, CUgraphExec exec, CUstream stream) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(exec, stream);
  call.Emit(trace::view::GraphLaunch{.exec = Id(exec),
                                     .stream = handle,
                                     .context = context,
                                     .result = result,
                                     .stack = stack,
                                     .graph_node = NodeOf(handle)});
  return result;
}

CUresult GraphNodeSetEnabled(Call& call, CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  CUresult result = call.Forward(exec, node, enabled);
  if (result == CUDA_SUCCESS) {
    call.Emit(
        trace::view::GraphNodeChange{.exec = Id(exec), .node = Id(node), .enabled = enabled != 0});
  }
  return result;
}

CUresult GraphExecChildSetParams(Call& call, CUgraphExec exec, CUgraphNode node, CUgraph child) {
  CUresult result = call.Forward(exec, node, child);
  if (result == CUDA_SUCCESS) {
    call.Emit(trace::view::GraphNodeChange{
        .exec = Id(exec), .node = Id(node), .enabled = 1, .child = Id(child)});
  }
  return result;
}

}  // namespace ss::capture
