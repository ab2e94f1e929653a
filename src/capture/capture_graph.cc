// Stream capture: its beginning and end, and where a call on a capturing stream went.
#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

// Streams that capture now (by their origins); asking the driver each time would cost too much.
std::atomic<int> g_captures;

constexpr size_t kMaxNodes = 1024;  // of one set of dependencies

struct Info {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
};

// The newest form is asked first: older ones refuse to answer where an edge is programmatic.
Info InfoOf(uint64_t stream) {
  Info info;
  const Driver& driver = TheDriver();
  auto handle = reinterpret_cast<CUstream>(stream);
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (driver.capture_info_v3) {
    const void* edges = nullptr;
    result = driver.capture_info_v3(handle, &info.status, nullptr, &info.graph, &info.nodes, &edges,
                                    &info.count);
  } else if (driver.capture_info_v2) {
    result = driver.capture_info_v2(handle, &info.status, nullptr, &info.graph, &info.nodes,
                                    &info.count);
  } else if (driver.stream_is_capturing) {
    result = driver.stream_is_capturing(handle, &info.status);
  }
  return result == CUDA_SUCCESS ? info : Info{};
}

trace::view::Words Collect(Call& call, const CUgraphNode* nodes, size_t count) {
  size_t kept = nodes ? count : 0;
  if (kept > kMaxNodes) {
    CountGap(Gap::kManyDependencies);
    kept = kMaxNodes;
  }
  for (size_t i = 0; i < kept; ++i) call.thread->words[i] = reinterpret_cast<uint64_t>(nodes[i]);
  return {call.thread->words, kept};
}

template <class... A>
CUresult Begin(Call& call, CUstream stream, CUstreamCaptureMode mode, const CUgraphNode* nodes,
               size_t count, A... arguments) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream, arguments...);
  if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
  uint64_t graph = result == CUDA_SUCCESS ? reinterpret_cast<uint64_t>(InfoOf(handle).graph) : 0;
  call.Emit(trace::view::CaptureBegin{.stream = handle,
                                      .context = context,
                                      .graph = graph,
                                      .mode = static_cast<uint64_t>(mode),
                                      .nodes = Collect(call, nodes, count),
                                      .result = result,
                                      .stack = stack});
  return result;
}

template <class... A>
CUresult Depend(Call& call, CUstream stream, const CUgraphNode* nodes, size_t count, unsigned flags,
                A... arguments) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  CUresult result = call.Forward(stream, arguments...);
  call.Emit(trace::view::CaptureDependencies{.stream = handle,
                                             .context = context,
                                             .nodes = Collect(call, nodes, count),
                                             .replaces = flags & 1u,
                                             .result = result});
  return result;
}

}  // namespace

bool IsCapturing(uint64_t stream) {
  if (g_captures.load(std::memory_order_relaxed) <= 0) return false;
  return InfoOf(stream).status != CU_STREAM_CAPTURE_STATUS_NONE;
}

uint64_t NodeOf(uint64_t stream) {
  if (g_captures.load(std::memory_order_relaxed) <= 0) return 0;
  Info info = InfoOf(stream);
  if (info.status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
  return info.count == 1 ? reinterpret_cast<uint64_t>(info.nodes[0]) : kNodeless;
}

uint64_t CapturedAt(uint64_t stream) { return IsCapturing(stream) ? kNodeless : 0; }

CUresult CaptureBegin(Call& call, CUstream stream) {
  return Begin(call, stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, 0);
}

CUresult CaptureBeginMode(Call& call, CUstream stream, CUstreamCaptureMode mode) {
  return Begin(call, stream, mode, nullptr, 0, mode);
}

CUresult CaptureBeginToGraph(Call& call, CUstream stream, CUgraph graph, const void* dependencies,
                             const void* data, size_t count, CUstreamCaptureMode mode) {
  return Begin(call, stream, mode, static_cast<const CUgraphNode*>(dependencies), count, graph,
               dependencies, data, count, mode);
}

// An end that fails ends the capture as well, also from a thread that may not (driver 580). On a
// stream that only joined it only spoils the capture: no record of it, as the stream still
// captures.
CUresult CaptureEnd(Call& call, CUstream stream, CUgraph* graph) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  bool capturing = IsCapturing(handle);
  CUresult result = call.Forward(stream, graph);
  if (result != CUDA_SUCCESS && IsCapturing(handle)) return result;
  if (capturing) g_captures.fetch_sub(1);
  bool made = result == CUDA_SUCCESS && graph;
  call.Emit(trace::view::CaptureEnd{.stream = handle,
                                    .context = context,
                                    .graph = made ? reinterpret_cast<uint64_t>(*graph) : 0,
                                    .result = result,
                                    .stack = stack});
  return result;
}

CUresult CaptureDepend(Call& call, CUstream stream, CUgraphNode* nodes, size_t count,
                       unsigned flags) {
  return Depend(call, stream, nodes, count, flags, nodes, count, flags);
}

CUresult CaptureDependData(Call& call, CUstream stream, CUgraphNode* nodes, const void* data,
                           size_t count, unsigned flags) {
  return Depend(call, stream, nodes, count, flags, nodes, data, count, flags);
}

}  // namespace ss::capture
