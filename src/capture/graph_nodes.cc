// Nodes that are added to a graph by hand.
#include "src/capture/graph_work.h"

namespace ss::capture {
namespace {

struct Place {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* data;
  size_t count;
};

template <class Work, class... A>
CUresult Add(Call& call, const Place& place, uint64_t kind, CUgraph child, Work&& work,
             A... arguments) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(place.node, place.graph, arguments...);
  if (result != CUDA_SUCCESS) return result;
  work.Tell(call, {Id(*place.node), 0});  // first: its words wait in the thread
  NoteNode(call, place.graph, *place.node, place.dependencies, place.data, place.count, kind, child,
           stack);
  return result;
}

template <class... A>
CUresult AddAny(Call& call, const Place& place, CUgraphNodeParams* params, A... arguments) {
  if (!params) return call.Forward(place.node, place.graph, arguments..., params);
  return WithWork(call, *params, [&](auto&& work) {
    return Given(work, params, [&](CUgraphNodeParams* given) {
      return Add(call, place, params->type, ChildOf(*params), work, arguments..., given);
    });
  });
}

}  // namespace

CUresult GraphAddKernelNode(Call& call, CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_KERNEL, nullptr,
             KernelNode(call, *params), dependencies, count, params);
}
CUresult GraphAddKernelNode2(Call& call, CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t count,
                             const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_KERNEL, nullptr,
             AnyKernelNode(call, *params), dependencies, count, params);
}
CUresult GraphAddMemcpyNode(Call& call, CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMCPY3D* copy, CUcontext context) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_MEMCPY, nullptr,
             CopyNode(call, copy, context), dependencies, count, copy, context);
}
CUresult GraphAddMemsetNode(Call& call, CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_MEMSET, nullptr,
             MemsetNode(call, *params, context), dependencies, count, params, context);
}
CUresult GraphAddHostNode(Call& call, CUgraphNode* node, CUgraph graph,
                          const CUgraphNode* dependencies, size_t count,
                          const CUDA_HOST_NODE_PARAMS_v1* params) {
  HostNode work(call, params->fn, params->userData);
  CUDA_HOST_NODE_PARAMS_v1 given{work.work.runner, work.work.data};
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_HOST, nullptr,
             work, dependencies, count, &given);
}
CUresult GraphAddChildNode(Call& call, CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* dependencies, size_t count, CUgraph child) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_GRAPH, child,
             NoWork{}, dependencies, count, child);
}
CUresult GraphAddEmptyNode(Call& call, CUgraphNode* node, CUgraph graph,
                           const CUgraphNode* dependencies, size_t count) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_EMPTY, nullptr,
             NoWork{}, dependencies, count);
}
CUresult GraphAddEventRecordNode(Call& call, CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count, CUevent event) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
             nullptr, EventNode(call, event, true), dependencies, count, event);
}
CUresult GraphAddEventWaitNode(Call& call, CUgraphNode* node, CUgraph graph,
                               const CUgraphNode* dependencies, size_t count, CUevent event) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
             nullptr, EventNode(call, event, false), dependencies, count, event);
}
CUresult GraphAddBatchMemOpNode(Call& call, CUgraphNode* node, CUgraph graph,
                                const CUgraphNode* dependencies, size_t count,
                                const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
             nullptr, MemOpNode(call, params->paramArray, params->count, params->ctx), dependencies,
             count, params);
}
CUresult GraphAddMemAllocNode(Call& call, CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              CUDA_MEM_ALLOC_NODE_PARAMS_v1* params) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
             nullptr, AllocNode<CUDA_MEM_ALLOC_NODE_PARAMS_v1>(call, *params), dependencies, count,
             params);
}
CUresult GraphAddMemFreeNode(Call& call, CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t count, CUdeviceptr address) {
  return Add(call, {node, graph, dependencies, nullptr, count}, CU_GRAPH_NODE_TYPE_MEM_FREE,
             nullptr, FreeNode(call, address), dependencies, count, address);
}
CUresult GraphAddNode(Call& call, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                      size_t count, CUgraphNodeParams* params) {
  return AddAny(call, {node, graph, dependencies, nullptr, count}, params, dependencies, count);
}
CUresult GraphAddNodeData(Call& call, CUgraphNode* node, CUgraph graph,
                          const CUgraphNode* dependencies, const void* data, size_t count,
                          CUgraphNodeParams* params) {
  return AddAny(call, {node, graph, dependencies, static_cast<const CUgraphEdgeData*>(data), count},
                params, dependencies, data, count);
}

}  // namespace ss::capture
