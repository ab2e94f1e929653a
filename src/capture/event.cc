#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

uint64_t Handle(CUevent event) { return reinterpret_cast<uint64_t>(event); }

template <class... A>
CUresult Record(Call& call, CUevent event, CUstream stream, unsigned flags, A... more) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(event, stream, more...);
  // An external record is a node; any other one notes what the stream has captured.
  uint64_t node = flags ? NodeOf(handle) : CapturedAt(handle);
  call.Emit(trace::view::EventRecord{.event = Handle(event),
                                     .stream = handle,
                                     .context = context,
                                     .flags = flags,
                                     .result = result,
                                     .stack = stack,
                                     .graph_node = node});
  return result;
}

}  // namespace

CUresult EventCreate(Call& call, CUevent* event, unsigned flags) {
  uint64_t context = CurrentContext(*call.thread);
  CUresult result = call.Forward(event, flags);
  if (result != CUDA_SUCCESS) return result;
  call.Emit(trace::view::EventCreate{.event = Handle(*event), .context = context, .flags = flags});
  return result;
}

CUresult EventDestroy(Call& call, CUevent event) {
  CUresult result = call.Forward(event);
  if (result == CUDA_SUCCESS) call.Emit(trace::view::EventDestroy{.event = Handle(event)});
  return result;
}

CUresult EventRecord(Call& call, CUevent event, CUstream stream) {
  return Record(call, event, stream, 0);
}

CUresult EventRecordWithFlags(Call& call, CUevent event, CUstream stream, unsigned flags) {
  return Record(call, event, stream, flags, flags);
}

CUresult EventQuery(Call& call, CUevent event) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(event);
  call.Emit(trace::view::EventQuery{.event = Handle(event),
                                    .result = result,
                                    .in_allocator = call.thread->in_allocator != 0,
                                    .stack = stack});
  return result;
}

CUresult EventSynchronize(Call& call, CUevent event) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(event);
  call.Emit(trace::view::EventSync{.event = Handle(event), .result = result, .stack = stack});
  return result;
}

// Success means that both have completed (rule 6).
CUresult EventElapsedTime(Call& call, float* milliseconds, CUevent start, CUevent end) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(milliseconds, start, end);
  for (CUevent event : {start, end}) {
    call.Emit(trace::view::EventSync{.event = Handle(event), .result = result, .stack = stack});
  }
  return result;
}

}  // namespace ss::capture
