// Events: a record is a marker in a stream, and an event remembers its most recent one (rule 5).
#include "api_graph.h"
#include "ipc.h"

using namespace ss::vgpu;

VGPU_EXPORT cuEventCreate(CUevent* event, unsigned int flags) {
  VGPU_ENTER_CONTEXT(call);
  constexpr unsigned kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (!event || flags & ~kKnown) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = flags & CU_EVENT_INTERPROCESS;
  if (shared && !(flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<Event>();
  if (shared && !(made->shared = SharedEvent::Make())) return CUDA_ERROR_OUT_OF_MEMORY;
  made->context = RootOf(call.context);
  made->flags = flags;
  *event = reinterpret_cast<CUevent>(call.machine.events.Add(std::move(made)));
  return CUDA_SUCCESS;
}

static CUresult DestroyEvent(CUevent handle) {
  VGPU_ENTER(call);
  Event* event = call.machine.events.Find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  call.machine.events.Remove(event);
  return CUDA_SUCCESS;
}
#undef cuEventDestroy
VGPU_EXPORT cuEventDestroy(CUevent event) { return DestroyEvent(event); }
VGPU_EXPORT cuEventDestroy_v2(CUevent event) { return DestroyEvent(event); }

static CUresult Record(CUevent handle, CUstream stream_handle, unsigned int flags,
                       DefaultStream which) {
  VGPU_ENTER(call);
  Event* event = call.machine.events.Find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(stream_handle, which, &stream)) return error;
  // Records do not cross contexts (rule 6).
  if (RootOf(stream->context) != event->context) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = Implicit(*stream)) return error;
  if (stream->capture && stream->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture && flags) {
    GraphNode* node = CaptureNode(*stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    node->event = event;
    node->work = {Work::kMarker, "record"};
    return CUDA_SUCCESS;
  }
  event->capture = stream->capture;
  event->nodes = stream->frontier;
  if (stream->capture) {
    event->record = nullptr;
    return CUDA_SUCCESS;
  }
  if (flags) return CUDA_ERROR_INVALID_VALUE;  // an external record needs a capture
  event->record = call.machine.Issue(*stream, RecordOf(*event));
  call.machine.HostStep(call.lock);
  return CUDA_SUCCESS;
}
VGPU_STREAM_EXPORT(cuEventRecord, _ptsz, (CUevent event, CUstream stream),
                   Record(event, stream, 0, kDefault))
VGPU_STREAM_EXPORT(cuEventRecordWithFlags, _ptsz,
                   (CUevent event, CUstream stream, unsigned int flags),
                   Record(event, stream, flags, kDefault))

VGPU_EXPORT cuEventQuery(CUevent handle) {
  VGPU_ENTER(call);
  Event* event = call.machine.events.Find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
  if (const CUresult error = Forbidden(call)) return error;
  if (RecordedElsewhere(*event)) {
    return DoneElsewhere(*event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }
  return call.machine.Poll(call.lock, event->record) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

VGPU_EXPORT cuEventSynchronize(CUevent handle) {
  VGPU_ENTER(call);
  Event* event = call.machine.events.Find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
  if (const CUresult error = Forbidden(call)) return error;
  if (RecordedElsewhere(*event)) return SynchronizeElsewhere(call, *event);
  return call.Wait(event->record ? std::vector<OpPtr>{event->record} : std::vector<OpPtr>{});
}

// One step of the device counts as a microsecond.
static CUresult Elapsed(float* ms, CUevent start_handle, CUevent end_handle) {
  VGPU_ENTER(call);
  Event* start = call.machine.events.Find(start_handle);
  Event* end = call.machine.events.Find(end_handle);
  if (!start || !end || !start->record || !end->record) return CUDA_ERROR_INVALID_HANDLE;
  if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
  if (!ms) return CUDA_ERROR_INVALID_VALUE;
  const OpPtr first = start->record, last = end->record;
  if (!call.machine.Poll(call.lock, first) || !call.machine.Poll(call.lock, last)) {
    return CUDA_ERROR_NOT_READY;
  }
  *ms = 0.001f * (static_cast<float>(last->done_step) - static_cast<float>(first->done_step));
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
VGPU_EXPORT cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
  return Elapsed(ms, start, end);
}
VGPU_EXPORT cuEventElapsedTime_v2(float* ms, CUevent start, CUevent end) {
  return Elapsed(ms, start, end);
}
