#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

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

}  // namespace

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

CUresult GreenCtxStreamCreate(Call& call, CUstream* stream, void* green, unsigned flags,
                              int priority) {
  uint64_t context = GreenContext(*call.thread, green);  // whatever context is current
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream, green, flags, priority);
  return Created(call, result, stream, flags, priority, context, stack);
}

CUresult StreamDestroy(Call& call, CUstream stream) {
  uint64_t context = ContextOf(*call.thread, Handle(stream));
  EndBreadcrumbs(Handle(stream));
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
  // A wait for an external event is a node.
  uint64_t node = flags & CU_EVENT_WAIT_EXTERNAL ? NodeOf(handle) : CapturedAt(handle);
  call.Emit(trace::view::StreamWaitEvent{.stream = handle,
                                         .context = context,
                                         .event = reinterpret_cast<uint64_t>(event),
                                         .flags = flags,
                                         .result = result,
                                         .stack = stack,
                                         .graph_node = node});
  return result;
}

}  // namespace ss::capture
