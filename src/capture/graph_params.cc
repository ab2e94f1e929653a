// What a node does is changed, in its graph or in an executable one.
#include "src/capture/graph_work.h"

namespace ss::capture {
namespace {

// Also of an executable graph, whose handle then is among the arguments.
template <class Work, class... A>
CUresult Set(Call& call, Target target, Work&& work, A... arguments) {
  CUresult result = call.Forward(arguments...);
  if (result == CUDA_SUCCESS) work.Tell(call, target);
  return result;
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
