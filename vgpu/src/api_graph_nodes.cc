// Nodes of graphs: added by hand, and changed.
#include "api_graph.h"

using namespace ss::vgpu;

namespace {

// Fills in what a node does; the same for a new node and for one that is changed.
CUresult Describe(Call& call, const CUgraphNodeParams& params, GraphNode* node) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return KernelOp(call, params.kernel, &node->work);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return CopyOp(call, params.memcpy.copyParams, &node->work);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return FillOp(call, params.memset, &node->work);
    case CU_GRAPH_NODE_TYPE_HOST: {
      if (!params.host.fn) return CUDA_ERROR_INVALID_VALUE;
      node->work = {Work::kHostFunction, "host function", 1,
                    [host = params.host](uint32_t) { host.fn(host.userData); }};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      node->event = call.machine.events.Find(params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT
                                                 ? params.eventWait.event
                                                 : params.eventRecord.event);
      node->work = {Work::kMarker, "event node"};
      return node->event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const Graph* child = call.machine.graphs.Find(params.graph.graph);
      if (!child) return CUDA_ERROR_INVALID_VALUE;
      node->child = CopyOf(*child);
      node->child->embedded = true;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      node->work = {Work::kMarker, "empty node"};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      node->address = params.free.dptr;
      node->work = {Work::kMarker, "free"};
      return call.machine.memory->Find(params.free.dptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      std::vector<NewOp> ops;
      const CUresult error = MemOp(call, params.memOp.paramArray, params.memOp.count, &ops);
      if (error || ops.size() != 1) return error ? error : CUDA_ERROR_NOT_SUPPORTED;
      node->work = std::move(ops[0]);
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult Allocation(Call& call, size_t bytes, GraphNode* node) {
  if (!call.context) return CUDA_ERROR_INVALID_CONTEXT;
  Block* block = call.machine.memory->Allocate(MemoryKind::kDevice, RootOf(call.context), bytes, 0);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  block->of_graph = true;
  node->address = block->base;
  node->work = {Work::kMarker, "allocate"};
  return CUDA_SUCCESS;
}

template <class Fill>
CUresult Add(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, size_t count,
             CUgraphNodeType type, Fill fill) {
  VGPU_ENTER(call);
  Graph* graph = call.machine.graphs.Find(handle);
  if (!out || !graph || (count && !dependencies)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const GraphNode* before = NodeOf(dependencies[i]);
    if (!IsNode(call, before) || before->graph != graph) return CUDA_ERROR_INVALID_VALUE;
  }
  GraphNode* node = AddTo(*graph, type, call.context);
  if (const CUresult error = fill(call, node)) {
    graph->nodes.pop_back();
    return error;
  }
  for (size_t i = 0; i < count; ++i) node->after.push_back(NodeOf(dependencies[i]));
  *out = reinterpret_cast<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

CUresult AddAny(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                CUgraphNodeParams* params) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  return Add(out, graph, dependencies, count, params->type, [&](Call& call, GraphNode* node) {
    if (params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return Describe(call, *params, node);
    const CUresult error = Allocation(call, params->alloc.bytesize, node);
    params->alloc.dptr = node->address;
    return error;
  });
}

// `exec` null: the node itself.
CUresult Set(CUgraphExec exec_handle, CUgraphNode handle, const CUgraphNodeParams& params) {
  VGPU_ENTER(call);
  GraphNode* node = NodeOf(handle);
  if (exec_handle) {
    ExecutableGraph* exec = call.machine.executables.Find(exec_handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    auto& nodes = exec->body->nodes;
    const auto copy = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const auto& one) { return one->original == node; });
    node = copy == nodes.end() ? nullptr : copy->get();
  } else if (!IsNode(call, node)) {
    node = nullptr;
  }
  if (!node || node->type != params.type) return CUDA_ERROR_INVALID_VALUE;
  return Describe(call, params, node);
}

CUgraphNodeParams Kernel(const CUDA_KERNEL_NODE_PARAMS_v1& in) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = {in.func,         in.gridDimX,  in.gridDimY,  in.gridDimZ,
                   in.blockDimX,    in.blockDimY, in.blockDimZ, in.sharedMemBytes,
                   in.kernelParams, in.extra,     nullptr,      nullptr};
  return params;
}
CUgraphNodeParams Kernel(const CUDA_KERNEL_NODE_PARAMS_v2& in) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = {in.func,         in.gridDimX,  in.gridDimY,  in.gridDimZ,
                   in.blockDimX,    in.blockDimY, in.blockDimZ, in.sharedMemBytes,
                   in.kernelParams, in.extra,     in.kern,      in.ctx};
  return params;
}
CUgraphNodeParams Memcpy(const CUDA_MEMCPY3D& copy) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy.copyParams = copy;
  return params;
}
CUgraphNodeParams Memset(const CUDA_MEMSET_NODE_PARAMS_v1& in) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {in.dst, in.pitch, in.value, in.elementSize, in.width, in.height, nullptr};
  return params;
}
CUgraphNodeParams Host(const CUDA_HOST_NODE_PARAMS_v1& in) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  params.host.fn = in.fn;
  params.host.userData = in.userData;
  return params;
}
CUgraphNodeParams OfEvent(CUevent event, bool record) {
  CUgraphNodeParams params{};
  params.type = record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  if (record) {
    params.eventRecord.event = event;
  } else {
    params.eventWait.event = event;
  }
  return params;
}
CUgraphNodeParams Child(CUgraph child) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  return params;
}
CUgraphNodeParams MemOps(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1& in) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  params.memOp = {in.ctx, in.count, in.paramArray, in.flags};
  return params;
}

}  // namespace

#define VGPU_NODE_PLACE CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count
#define VGPU_ADD(name, more, params)                       \
  VGPU_EXPORT name(VGPU_NODE_PLACE, more) {                \
    CUgraphNodeParams described = params;                  \
    return AddAny(node, graph, before, count, &described); \
  }
#undef cuGraphAddKernelNode
VGPU_ADD(cuGraphAddKernelNode, const CUDA_KERNEL_NODE_PARAMS_v1* p, Kernel(*p))
VGPU_ADD(cuGraphAddKernelNode_v2, const CUDA_KERNEL_NODE_PARAMS_v2* p, Kernel(*p))
VGPU_ADD(cuGraphAddHostNode, const CUDA_HOST_NODE_PARAMS_v1* p, Host(*p))
VGPU_ADD(cuGraphAddChildGraphNode, CUgraph child, Child(child))
VGPU_ADD(cuGraphAddEventRecordNode, CUevent event, OfEvent(event, true))
VGPU_ADD(cuGraphAddEventWaitNode, CUevent event, OfEvent(event, false))
VGPU_ADD(cuGraphAddBatchMemOpNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* p, MemOps(*p))
VGPU_EXPORT cuGraphAddMemcpyNode(VGPU_NODE_PLACE, const CUDA_MEMCPY3D* copy, CUcontext) {
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = Memcpy(*copy);
  return AddAny(node, graph, before, count, &params);
}
VGPU_EXPORT cuGraphAddMemsetNode(VGPU_NODE_PLACE, const CUDA_MEMSET_NODE_PARAMS_v1* p, CUcontext) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = Memset(*p);
  return AddAny(node, graph, before, count, &params);
}
VGPU_EXPORT cuGraphAddEmptyNode(VGPU_NODE_PLACE) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  return AddAny(node, graph, before, count, &params);
}
VGPU_EXPORT cuGraphAddMemAllocNode(VGPU_NODE_PLACE, CUDA_MEM_ALLOC_NODE_PARAMS_v1* p) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, before, count, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
             [&](Call& call, GraphNode* made) {
               const CUresult error = Allocation(call, p->bytesize, made);
               p->dptr = made->address;
               return error;
             });
}
VGPU_EXPORT cuGraphAddMemFreeNode(VGPU_NODE_PLACE, CUdeviceptr address) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  params.free.dptr = address;
  return AddAny(node, graph, before, count, &params);
}
#undef cuGraphAddNode
VGPU_EXPORT cuGraphAddNode(VGPU_NODE_PLACE, CUgraphNodeParams* params) {
  return AddAny(node, graph, before, count, params);
}
VGPU_EXPORT cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  return AddAny(node, graph, before, count, params);
}

#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
VGPU_EXPORT cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return Set(nullptr, node, Kernel(*p));
}
VGPU_EXPORT cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* p) {
  return Set(nullptr, node, Kernel(*p));
}
VGPU_EXPORT cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  return Set(nullptr, node, Memcpy(*copy));
}
VGPU_EXPORT cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1* p) {
  return Set(nullptr, node, Memset(*p));
}
VGPU_EXPORT cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS_v1* p) {
  return Set(nullptr, node, Host(*p));
}
VGPU_EXPORT cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return Set(nullptr, node, *params);
}
VGPU_EXPORT cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return Set(exec, node, Kernel(*p));
}
VGPU_EXPORT cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                              const CUDA_KERNEL_NODE_PARAMS_v2* p) {
  return Set(exec, node, Kernel(*p));
}
VGPU_EXPORT cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_MEMCPY3D* copy, CUcontext) {
  return Set(exec, node, Memcpy(*copy));
}
VGPU_EXPORT cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_MEMSET_NODE_PARAMS_v1* p, CUcontext) {
  return Set(exec, node, Memset(*p));
}
VGPU_EXPORT cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                         const CUDA_HOST_NODE_PARAMS_v1* p) {
  return Set(exec, node, Host(*p));
}
VGPU_EXPORT cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return Set(exec, node, Child(child));
}
VGPU_EXPORT cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return Set(exec, node, OfEvent(event, true));
}
VGPU_EXPORT cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return Set(exec, node, OfEvent(event, false));
}
VGPU_EXPORT cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                     CUgraphNodeParams* params) {
  return Set(exec, node, *params);
}
