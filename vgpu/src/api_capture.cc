// Stream capture: what is queued on a capturing stream becomes a node (rule 14).
#include "api_graph.h"

using namespace ss::vgpu;

namespace ss::vgpu {

namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool Forbids(const Capture& capture) {
  if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == ThreadNumber()) return true;
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUgraphNodeType TypeOf(Work work) {
  switch (work) {
    case Work::kKernel:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case Work::kCopy:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case Work::kMemset:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case Work::kHostFunction:
      return CU_GRAPH_NODE_TYPE_HOST;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

// Nodes that `from` come after, themselves included.
std::set<const GraphNode*> Behind(const std::vector<GraphNode*>& from) {
  std::set<const GraphNode*> seen;
  std::vector<const GraphNode*> open(from.begin(), from.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return seen;
}

bool Joined(const Capture& capture) {
  const std::set<const GraphNode*> covered = Behind(capture.origin->frontier);
  for (const Stream* stream : capture.streams) {
    for (const GraphNode* node : stream->frontier) {
      if (!covered.contains(node)) return false;
    }
  }
  return true;
}

}  // namespace

CUresult Forbidden(Call& call) {
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : call.machine.captures) {
    if (!Forbids(*capture)) continue;
    capture->broken = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult Capturing(Stream& stream) {
  if (!stream.capture) return CUDA_SUCCESS;
  stream.capture->broken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// The legacy stream waits for blocking streams: it cannot while one of them captures.
CUresult Implicit(Stream& stream) {
  if (stream.kind != StreamKind::kLegacy) return CUDA_SUCCESS;
  for (const auto& [key, other] : stream.context->streams) {
    if (other->kind == StreamKind::kNonBlocking || !other->capture) continue;
    other->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return CUDA_SUCCESS;
}

GraphNode* CaptureNode(Stream& stream, CUgraphNodeType type) {
  GraphNode* node = AddTo(*stream.capture->graph, type, stream.context);
  node->after = stream.frontier;
  stream.frontier = {node};
  return node;
}

CUresult CaptureWork(Stream& stream, NewOp what) {
  if (stream.capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  GraphNode* node = CaptureNode(stream, TypeOf(what.work));
  what.after.clear();
  node->work = std::move(what);
  return CUDA_SUCCESS;
}

void Leave(Capture& capture) {
  for (Stream* stream : capture.streams) {
    stream->capture = nullptr;
    stream->frontier.clear();
  }
}

}  // namespace ss::vgpu

static CUresult Begin(CUstream handle, Graph* graph, const CUgraphNode* nodes, size_t count,
                      CUstreamCaptureMode mode, DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (stream->kind == StreamKind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = call.machine.NewId();
  if (!graph) capture->made = std::make_unique<Graph>();
  capture->graph = graph ? graph : capture->made.get();
  capture->origin = stream;
  capture->thread = ThreadNumber();
  capture->mode = mode;
  capture->streams.insert(stream);
  stream->capture = capture.get();
  stream->frontier.clear();
  for (size_t i = 0; i < count; ++i) {
    stream->frontier.push_back(reinterpret_cast<GraphNode*>(nodes[i]));
  }
  call.machine.captures.insert(std::move(capture));
  return CUDA_SUCCESS;
}
#undef cuStreamBeginCapture
VGPU_STREAM_EXPORT(cuStreamBeginCapture, _ptsz, (CUstream stream),
                   Begin(stream, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL, kDefault))
VGPU_STREAM_EXPORT(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
                   Begin(stream, nullptr, nullptr, 0, mode, kDefault))
static CUresult BeginInto(CUstream stream, CUgraph graph, const CUgraphNode* nodes, size_t count,
                          CUstreamCaptureMode mode, DefaultStream which) {
  Graph* into = nullptr;
  {
    VGPU_ENTER(call);
    into = call.machine.graphs.Find(graph);
  }
  if (!into || (count && !nodes)) return CUDA_ERROR_INVALID_VALUE;
  return Begin(stream, into, nodes, count, mode, which);
}
VGPU_STREAM_EXPORT(cuStreamBeginCaptureToGraph, _ptsz,
                   (CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                    const CUgraphEdgeData*, size_t count, CUstreamCaptureMode mode),
                   BeginInto(stream, graph, nodes, count, mode, kDefault))

static CUresult End(CUstream handle, CUgraph* graph, DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  Capture* capture = stream->capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) {  // which a driver 580 takes as the capture's end by mistake
    capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const bool stranger =
      capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != ThreadNumber();
  auto found = std::find_if(call.machine.captures.begin(), call.machine.captures.end(),
                            [&](const auto& open) { return open.get() == capture; });
  const std::shared_ptr<Capture> kept = *found;
  const bool joined = Joined(*capture);
  Leave(*capture);
  call.machine.captures.erase(found);
  call.machine.events.Each([&](Event& event) {
    if (event.capture == capture) event.capture = nullptr, event.nodes.clear();
  });
  *graph = nullptr;
  if (stranger) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;  // and the capture is over, too
  if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  Graph* made = capture->graph;
  if (capture->made) made = call.machine.graphs.Add(std::move(capture->made));
  *graph = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}
VGPU_STREAM_EXPORT(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph),
                   End(stream, graph, kDefault))

static CUresult Info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                     const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count,
                     DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (!status) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = Implicit(*stream)) return error;
  const Capture* capture = stream->capture;
  *status = !capture          ? CU_STREAM_CAPTURE_STATUS_NONE
            : capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (!capture || capture->broken) return CUDA_SUCCESS;
  if (id) *id = capture->id;
  if (graph) *graph = reinterpret_cast<CUgraph>(capture->graph);
  if (nodes) *nodes = reinterpret_cast<const CUgraphNode*>(stream->frontier.data());
  if (edges) *edges = nullptr;
  if (count) *count = stream->frontier.size();
  return CUDA_SUCCESS;
}
VGPU_STREAM_EXPORT(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status),
                   Info(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr, kDefault))
#undef cuStreamGetCaptureInfo
VGPU_STREAM_EXPORT(cuStreamGetCaptureInfo, _ptsz,
                   (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id),
                   Info(stream, status, id, nullptr, nullptr, nullptr, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuStreamGetCaptureInfo_v2, _ptsz,
                   (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                    const CUgraphNode** nodes, size_t* count),
                   Info(stream, status, id, graph, nodes, nullptr, count, kDefault))
VGPU_STREAM_EXPORT(cuStreamGetCaptureInfo_v3, _ptsz,
                   (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                    const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count),
                   Info(stream, status, id, graph, nodes, edges, count, kDefault))

static CUresult Depend(CUstream handle, const CUgraphNode* nodes, size_t count, unsigned flags,
                       DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags > 1 || (count && !nodes)) return CUDA_ERROR_INVALID_VALUE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->frontier.clear();
  for (size_t i = 0; i < count; ++i) {
    stream->frontier.push_back(reinterpret_cast<GraphNode*>(nodes[i]));
  }
  return CUDA_SUCCESS;
}
#undef cuStreamUpdateCaptureDependencies
VGPU_STREAM_EXPORT(cuStreamUpdateCaptureDependencies, _ptsz,
                   (CUstream stream, CUgraphNode* nodes, size_t count, unsigned int flags),
                   Depend(stream, nodes, count, flags, kDefault))
VGPU_STREAM_EXPORT(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                   (CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count,
                    unsigned int flags),
                   Depend(stream, nodes, count, flags, kDefault))

VGPU_EXPORT cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, ss::vgpu::thread_mode);
  return CUDA_SUCCESS;
}
