// What the functions about graphs and capture share.
#pragma once

#include <algorithm>

#include "api.h"
#include "graph.h"

namespace ss::vgpu {

// An unsafe call while a capture forbids it: breaks the capture.
CUresult Forbidden(Call& call);
// A call that no capturing stream allows (a synchronisation, a query): breaks the capture.
CUresult Capturing(Stream& stream);
// An operation of the legacy stream while a blocking stream captures.
CUresult Implicit(Stream& stream);
// A node behind what the stream has captured.
GraphNode* CaptureNode(Stream& stream, CUgraphNodeType type);
CUresult CaptureWork(Stream& stream, NewOp what);

GraphNode* NodeOf(CUgraphNode node);
// Of a graph of the program's, or of one that is being captured.
bool IsNode(Call& call, const GraphNode* node);

// api_launch.cc, copy.cc: what would be queued, without a stream.
CUresult KernelOp(Call& call, const CUDA_KERNEL_NODE_PARAMS_v3& params, NewOp* op);
CUresult CopyOp(Call& call, const CUDA_MEMCPY3D& copy, NewOp* op);
CUresult FillOp(Call& call, const CUDA_MEMSET_NODE_PARAMS_v2& params, NewOp* op);
CUresult MemOp(Call& call, const CUstreamBatchMemOpParams* operations, unsigned count,
               std::vector<NewOp>* ops);

}  // namespace ss::vgpu
