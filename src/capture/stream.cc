#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

std::atomic<int>
    g_captures;  // streams that capture now; asking the driver each time would cost too much

uint64_t Handle(CUstream stream) { return reinterpret_cast<uint64_t>(stream); }

CUresult Created(Call& call, CUresult result, CUstream* stream, unsigned flags, int priority,
                 uint64_t context, uint64_t stack) {
  if (result != CUDA_SUCCESS) return result;
  StreamBorn(Handle(*stream), context);
  call.Emit(trace::view::StreamCreate{.stream = Handle(*stream),
                                      .context = context,
                                      .flags = flags,
                                      .priority = priority,
                                      .stack = stack});
  return result;
}

template <class... A>
CUresult Begin(Call& call, A... arguments) {
  CUresult result = call.Forward(arguments...);
  if (result == CUDA_SUCCESS) g_captures.fetch_add(1);
  CountGap(Gap::kStreamCapture);
  return result;
}

}  // namespace

bool IsCapturing(uint64_t stream) {
  if (g_captures.load(std::memory_order_relaxed) <= 0) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const Driver& driver = TheDriver();
  if (!driver.stream_is_capturing) return false;
  CUresult result = driver.stream_is_capturing(reinterpret_cast<CUstream>(stream), &status);
  return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool WentIntoGraph(uint64_t stream) {
  if (!IsCapturing(stream)) return false;
  CountGap(Gap::kCapturedIntoGraph);
  return true;
}

CUresult StreamCreate(Call& call, CUstream* stream, unsigned flags) {
  uint64_t context = CurrentContext(*call.thread);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream, flags);
  return Created(call, result, stream, flags, 0, context, stack);
}

CUresult StreamCreateWithPriority(Call& call, CUstream* stream, unsigned flags, int priority) {
  uint64_t context = CurrentContext(*call.thread);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream, flags, priority);
  return Created(call, result, stream, flags, priority, context, stack);
}

CUresult StreamDestroy(Call& call, CUstream stream) {
  uint64_t context = ContextOf(*call.thread, Handle(stream));
  StreamGone(Handle(stream));  // before the driver may give the handle to another thread
  CUresult result = call.Forward(stream);
  if (result != CUDA_SUCCESS) return result;
  call.Emit(trace::view::StreamDestroy{.stream = Handle(stream), .context = context});
  return result;
}

CUresult StreamSynchronize(Call& call, CUstream stream) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream);
  call.Emit(trace::view::StreamSync{
      .stream = handle, .context = context, .result = result, .stack = stack});
  NoteCountedCalls(*call.thread, true);
  return result;
}

CUresult StreamQuery(Call& call, CUstream stream) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream);
  call.Emit(trace::view::StreamQuery{.stream = handle,
                                     .context = context,
                                     .result = result,
                                     .in_allocator = call.thread->in_allocator != 0,
                                     .stack = stack});
  return result;
}

// Asked afterwards: waiting for a captured event draws the stream into the capture.
CUresult StreamWaitEvent(Call& call, CUstream stream, CUevent event, unsigned flags) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream, event, flags);
  if (WentIntoGraph(handle)) return result;
  call.Emit(trace::view::StreamWaitEvent{.stream = handle,
                                         .context = context,
                                         .event = reinterpret_cast<uint64_t>(event),
                                         .flags = flags,
                                         .result = result,
                                         .stack = stack});
  return result;
}

CUresult CaptureBegin(Call& call, CUstream stream) { return Begin(call, stream); }

CUresult CaptureBeginMode(Call& call, CUstream stream, CUstreamCaptureMode mode) {
  return Begin(call, stream, mode);
}

CUresult CaptureBeginToGraph(Call& call, CUstream stream, CUgraph graph, const void* dependencies,
                             const void* data, size_t count, CUstreamCaptureMode mode) {
  return Begin(call, stream, graph, dependencies, data, count, mode);
}

// An end that fails has ended the capture as well.
CUresult CaptureEnd(Call& call, CUstream stream, CUgraph* graph) {
  bool capturing = IsCapturing(call.Stream(stream));
  CUresult result = call.Forward(stream, graph);
  if (capturing) g_captures.fetch_sub(1);
  return result;
}

}  // namespace ss::capture
