// What the nodes of a graph can do: each kind is looked at before the driver's call, and told after
// it.
#pragma once

#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/ranges.h"

namespace ss::capture {

template <class Pointer>
uint64_t Id(Pointer pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

struct KernelNode {
  KernelWork work;

  template <class Params>
  KernelNode(Call& call, const Params& params)
      : work(PrepareKernel(call, params.func, params.kernelParams, params.extra)) {}
  void Tell(Call& call, Target target) { EmitKernel(call, work, target); }
};

inline CUfunction FunctionOf(const CUDA_KERNEL_NODE_PARAMS_v3& params) {
  return params.func ? params.func : reinterpret_cast<CUfunction>(params.kern);
}
inline CUfunction FunctionOf(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
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
                                .graph_exec = target.exec,
                                .box = BoxOf(transfer)});
  }
};

struct MemsetNode {
  uint64_t to, bytes, context, stack, pitch, rows;
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
    pitch = bounding ? params.pitch : 0;
    rows = bounding ? params.height : 0;
  }
  void Tell(Call& call, Target target) const {
    call.Emit(trace::view::Memset{.destination = to,
                                  .bytes = bytes,
                                  .context = context,
                                  .stack = stack,
                                  .bounding = bounding,
                                  .graph_node = target.node,
                                  .graph_exec = target.exec,
                                  .pitch = pitch,
                                  .rows = rows});
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

inline CUgraph ChildOf(const CUgraphNodeParams& params) {
  return params.type == CU_GRAPH_NODE_TYPE_GRAPH ? params.graph.graph : nullptr;
}

// What the driver is given in place of `params`: the wrapper of a host function.
template <class Work>
void Wrap(const Work&, CUgraphNodeParams*) {}
inline void Wrap(const HostNode& node, CUgraphNodeParams* params) {
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

}  // namespace ss::capture
