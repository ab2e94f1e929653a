// What the nodes of a graph do: when they are added, and when that changes later.
#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/ranges.h"

namespace ss::capture {
namespace {

template <class Pointer>
uint64_t Id(Pointer pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Each kind of work has Prepare(), before the driver's call, and Tell(), after it.
struct KernelNode {
  KernelWork work;

  template <class Params>
  KernelNode(Call& call, const Params& params)
      : work(PrepareKernel(call, params.func, params.kernelParams, params.extra)) {}
  void Tell(Call& call, Target target) { EmitKernel(call, work, target); }
};

CUfunction FunctionOf(const CUDA_KERNEL_NODE_PARAMS_v3& params) {
  return params.func ? params.func : reinterpret_cast<CUfunction>(params.kern);
}
CUfunction FunctionOf(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
  return params.func ? params.func : reinterpret_cast<CUfunction>(params.kern);
}

struct AnyKernelNode {
  KernelWork work;

  template <class Params>
  AnyKernelNode(Call& call, const Params& params)
      : work(PrepareKernel(call, FunctionOf(params), params.kernelParams, params.extra)) {}
  void Tell(Call& call, Target target) { EmitKernel(call, work, target); }
};

struct CopyNode {
  Transfer transfer;
  uint64_t context, stack;

  CopyNode(Call& call, const CUDA_MEMCPY3D* copy, CUcontext where)
      : transfer(TransferOf(copy)),
        context(where ? Id(where) : CurrentContext(*call.thread)),
        stack(call.Stack()) {
    SeenContext(*call.thread, context);
  }
  void Tell(Call& call, Target target) const {
    if (transfer.array) return CountGap(Gap::kArrayCopy);
    call.Emit(trace::view::Copy{.destination = transfer.to,
                                .source = transfer.from,
                                .bytes = transfer.bytes,
                                .context = context,
                                .exact = transfer.exact,
                                .stack = stack,
                                .graph_node = target.node,
                                .graph_exec = target.exec});
  }
};

struct MemsetNode {
  uint64_t to, bytes, context, stack;
  bool bounding;

  template <class Params>
  MemsetNode(Call& call, const Params& params, CUcontext where)
      : to(params.dst),
        context(where ? Id(where) : CurrentContext(*call.thread)),
        stack(call.Stack()) {
    SeenContext(*call.thread, context);
    uint64_t row = params.width * params.elementSize;
    bytes = params.height > 1 ? params.pitch * (params.height - 1) + row : row;
    bounding = params.height > 1 && params.pitch > row;
  }
  void Tell(Call& call, Target target) const {
    call.Emit(trace::view::Memset{.destination = to,
                                  .bytes = bytes,
                                  .context = context,
                                  .stack = stack,
                                  .bounding = bounding,
                                  .graph_node = target.node,
                                  .graph_exec = target.exec});
  }
};

struct HostNode {
  HostWork work;
  uint64_t context, stack;

  HostNode(Call& call, CUhostFn function, void* data)
      : work(PrepareHost(function, data)),
        context(CurrentContext(*call.thread)),
        stack(call.Stack()) {}
  void Tell(Call& call, Target target) const {
    call.Emit(trace::view::HostFunction{.context = context,
                                        .function = Id(work.function),
                                        .token = work.token,
                                        .stack = stack,
                                        .graph_node = target.node,
                                        .graph_exec = target.exec});
  }
};

struct EventNode {
  CUevent event;
  bool record;
  uint64_t context, stack;

  EventNode(Call& call, CUevent about, bool records)
      : event(about), record(records), context(CurrentContext(*call.thread)), stack(call.Stack()) {}
  void Tell(Call& call, Target target) const {
    if (record) {
      call.Emit(trace::view::EventRecord{.event = Id(event),
                                         .context = context,
                                         .flags = 1,
                                         .stack = stack,
                                         .graph_node = target.node,
                                         .graph_exec = target.exec});
    } else {
      call.Emit(trace::view::StreamWaitEvent{.context = context,
                                             .event = Id(event),
                                             .flags = 1,
                                             .stack = stack,
                                             .graph_node = target.node,
                                             .graph_exec = target.exec});
    }
  }
};

struct MemOpNode {
  size_t used;
  uint64_t context, stack;

  MemOpNode(Call& call, const CUstreamBatchMemOpParams* operations, unsigned count, CUcontext where)
      : used(MemOpWords(operations, count, call.thread->words, kMaxWords)),
        context(where ? Id(where) : CurrentContext(*call.thread)),
        stack(call.Stack()) {
    SeenContext(*call.thread, context);
  }
  void Tell(Call& call, Target target) const {
    call.Emit(trace::view::StreamMemOp{.context = context,
                                       .operations = {call.thread->words, used},
                                       .stack = stack,
                                       .graph_node = target.node,
                                       .graph_exec = target.exec});
  }
};

// The address comes with the driver's answer.
template <class Params>
struct AllocNode {
  const Params& params;
  uint64_t context, stack;

  AllocNode(Call& call, const Params& about)
      : params(about), context(CurrentContext(*call.thread)), stack(call.Stack()) {}
  void Tell(Call& call, Target target) const {
    g_ranges.device.Widen(params.dptr, params.dptr + params.bytesize);
    call.Emit(trace::view::AllocAsync{.address = params.dptr,
                                      .bytes = params.bytesize,
                                      .context = context,
                                      .stack = stack,
                                      .graph_node = target.node,
                                      .graph_exec = target.exec});
  }
};

struct FreeNode {
  uint64_t address, context, stack;

  FreeNode(Call& call, CUdeviceptr about)
      : address(about), context(CurrentContext(*call.thread)), stack(call.Stack()) {}
  void Tell(Call& call, Target target) const {
    call.Emit(trace::view::FreeAsync{.address = address,
                                     .context = context,
                                     .stack = stack,
                                     .graph_node = target.node,
                                     .graph_exec = target.exec});
  }
};

struct NoWork {
  void Tell(Call&, Target) const {}
};

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

// Also of an executable graph, whose handle then is among the arguments.
template <class Work, class... A>
CUresult Set(Call& call, Target target, Work&& work, A... arguments) {
  CUresult result = call.Forward(arguments...);
  if (result == CUDA_SUCCESS) work.Tell(call, target);
  return result;
}

// Does `body` with what the parameters of any node say, and gives what it returns.
template <class Body>
CUresult WithWork(Call& call, CUgraphNodeParams& params, Body body) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return body(AnyKernelNode(call, params.kernel));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return body(CopyNode(call, &params.memcpy.copyParams, params.memcpy.copyCtx));
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return body(MemsetNode(call, params.memset, params.memset.ctx));
    case CU_GRAPH_NODE_TYPE_HOST:
      return body(HostNode(call, params.host.fn, params.host.userData));
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return body(EventNode(call, params.eventWait.event, false));
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return body(EventNode(call, params.eventRecord.event, true));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return body(MemOpNode(call, params.memOp.paramArray, params.memOp.count, params.memOp.ctx));
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return body(AllocNode<CUDA_MEM_ALLOC_NODE_PARAMS_v2>(call, params.alloc));
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return body(FreeNode(call, params.free.dptr));
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return body(NoWork{});
    default:
      CountGap(Gap::kGraphNodeKind);
      return body(NoWork{});
  }
}

CUgraph ChildOf(const CUgraphNodeParams& params) {
  return params.type == CU_GRAPH_NODE_TYPE_GRAPH ? params.graph.graph : nullptr;
}

// What the driver is given in place of `params`: the wrapper of a host function.
template <class Work>
void Wrap(const Work&, CUgraphNodeParams*) {}
void Wrap(const HostNode& node, CUgraphNodeParams* params) {
  params->host.fn = node.work.runner;
  params->host.userData = node.work.data;
}

// The program's parameters stay as they are, but for what the driver answers in them.
template <class Work, class Forward>
CUresult Given(const Work& work, CUgraphNodeParams* params, Forward forward) {
  if (params->type != CU_GRAPH_NODE_TYPE_HOST) return forward(params);
  CUgraphNodeParams copy = *params;
  Wrap(work, &copy);
  return forward(&copy);
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

template <class... A>
CUresult SetAny(Call& call, Target target, CUgraphNodeParams* params, A... arguments) {
  if (!params) return call.Forward(arguments..., params);
  return WithWork(call, *params, [&](auto&& work) {
    return Given(work, params, [&](CUgraphNodeParams* given) {
      CUresult result = Set(call, target, work, arguments..., given);
      if (result == CUDA_SUCCESS && ChildOf(*params)) {
        call.Emit(trace::view::GraphNodeChange{
            .exec = target.exec, .node = target.node, .enabled = 1, .child = Id(ChildOf(*params))});
      }
      return result;
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

CUresult GraphKernelSetParams(Call& call, CUgraphNode node,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return Set(call, {Id(node)}, KernelNode(call, *params), node, params);
}
CUresult GraphKernelSetParams2(Call& call, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return Set(call, {Id(node)}, AnyKernelNode(call, *params), node, params);
}
CUresult GraphMemcpySetParams(Call& call, CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  return Set(call, {Id(node)}, CopyNode(call, copy, nullptr), node, copy);
}
CUresult GraphMemsetSetParams(Call& call, CUgraphNode node,
                              const CUDA_MEMSET_NODE_PARAMS_v1* params) {
  return Set(call, {Id(node)}, MemsetNode(call, *params, nullptr), node, params);
}
CUresult GraphHostSetParams(Call& call, CUgraphNode node, const CUDA_HOST_NODE_PARAMS_v1* params) {
  HostNode work(call, params->fn, params->userData);
  CUDA_HOST_NODE_PARAMS_v1 given{work.work.runner, work.work.data};
  return Set(call, {Id(node)}, work, node, &given);
}
CUresult GraphHostGetParams(Call& call, CUgraphNode node, CUDA_HOST_NODE_PARAMS_v1* params) {
  CUresult result = call.Forward(node, params);
  if (result == CUDA_SUCCESS && params) UnwrapHost(&params->fn, &params->userData);
  return result;
}
CUresult GraphEventRecordSet(Call& call, CUgraphNode node, CUevent event) {
  return Set(call, {Id(node)}, EventNode(call, event, true), node, event);
}
CUresult GraphEventWaitSet(Call& call, CUgraphNode node, CUevent event) {
  return Set(call, {Id(node)}, EventNode(call, event, false), node, event);
}
CUresult GraphBatchMemOpSet(Call& call, CUgraphNode node,
                            const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params) {
  return Set(call, {Id(node)}, MemOpNode(call, params->paramArray, params->count, params->ctx),
             node, params);
}
CUresult GraphNodeSetParams(Call& call, CUgraphNode node, CUgraphNodeParams* params) {
  return SetAny(call, {Id(node)}, params, node);
}

CUresult GraphExecKernelSetParams(Call& call, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return Set(call, {Id(node), Id(exec)}, KernelNode(call, *params), exec, node, params);
}
CUresult GraphExecKernelSetParams2(Call& call, CUgraphExec exec, CUgraphNode node,
                                   const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return Set(call, {Id(node), Id(exec)}, AnyKernelNode(call, *params), exec, node, params);
}
CUresult GraphExecMemcpySetParams(Call& call, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_MEMCPY3D* copy, CUcontext context) {
  return Set(call, {Id(node), Id(exec)}, CopyNode(call, copy, context), exec, node, copy, context);
}
CUresult GraphExecMemsetSetParams(Call& call, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context) {
  return Set(call, {Id(node), Id(exec)}, MemsetNode(call, *params, context), exec, node, params,
             context);
}
CUresult GraphExecHostSetParams(Call& call, CUgraphExec exec, CUgraphNode node,
                                const CUDA_HOST_NODE_PARAMS_v1* params) {
  HostNode work(call, params->fn, params->userData);
  CUDA_HOST_NODE_PARAMS_v1 given{work.work.runner, work.work.data};
  return Set(call, {Id(node), Id(exec)}, work, exec, node, &given);
}
CUresult GraphExecEventRecordSet(Call& call, CUgraphExec exec, CUgraphNode node, CUevent event) {
  return Set(call, {Id(node), Id(exec)}, EventNode(call, event, true), exec, node, event);
}
CUresult GraphExecEventWaitSet(Call& call, CUgraphExec exec, CUgraphNode node, CUevent event) {
  return Set(call, {Id(node), Id(exec)}, EventNode(call, event, false), exec, node, event);
}
CUresult GraphExecBatchMemOpSet(Call& call, CUgraphExec exec, CUgraphNode node,
                                const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params) {
  return Set(call, {Id(node), Id(exec)},
             MemOpNode(call, params->paramArray, params->count, params->ctx), exec, node, params);
}
CUresult GraphExecNodeSetParams(Call& call, CUgraphExec exec, CUgraphNode node,
                                CUgraphNodeParams* params) {
  return SetAny(call, {Id(node), Id(exec)}, params, exec, node);
}

}  // namespace ss::capture
