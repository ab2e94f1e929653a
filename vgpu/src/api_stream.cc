// Streams, events and host functions.
#include "api_graph.h"
#include "ipc.h"

using namespace ss::vgpu;

static CUresult CreateStream(CUstream* stream, unsigned int flags, int priority) {
  VGPU_ENTER_CONTEXT(call);
  if (!stream || (flags & ~1u)) return CUDA_ERROR_INVALID_VALUE;
  // In a green context no stream orders with the default one (seen on an H200).
  const bool apart = flags & CU_STREAM_NON_BLOCKING || call.context->green_of;
  const StreamKind kind = apart ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  *stream = reinterpret_cast<CUstream>(call.machine.AddStream(call.context, kind, priority));
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuStreamCreate(CUstream* stream, unsigned int flags) {
  return CreateStream(stream, flags, 0);
}
VGPU_EXPORT cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return CreateStream(stream, flags, priority);
}

// Returns at once; queued work still runs.
static CUresult DestroyStream(CUstream handle) {
  VGPU_ENTER(call);
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (!call.machine.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  call.machine.RemoveStream(stream);
  return CUDA_SUCCESS;
}
#undef cuStreamDestroy
VGPU_EXPORT cuStreamDestroy(CUstream stream) { return DestroyStream(stream); }
VGPU_EXPORT cuStreamDestroy_v2(CUstream stream) { return DestroyStream(stream); }

static CUresult SyncStream(CUstream handle, DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (const CUresult error = Capturing(*stream)) return error;
  // Synchronising the legacy stream is an operation of it: it waits for the blocking streams (rule
  // 4).
  if (stream->kind == StreamKind::kLegacy)
    return call.RunAndWait(*stream, {Work::kMarker, "synchronize"});
  return call.Wait(stream->tail ? std::vector<OpPtr>{stream->tail} : std::vector<OpPtr>{});
}
VGPU_STREAM_EXPORT(cuStreamSynchronize, _ptsz, (CUstream stream), SyncStream(stream, kDefault))

// The legacy stream is ready when the blocking streams are too (seen on an H200); asking is no
// operation of it, so nothing that comes later waits for them.
static OpPtr FirstBusy(const Stream& legacy) {
  for (const auto& [key, stream] : legacy.context->streams) {
    const bool covered =
        stream->kind == StreamKind::kBlocking || stream->kind == StreamKind::kPerThread;
    if (covered && stream->tail && !stream->tail->done) return stream->tail;
  }
  return nullptr;
}

static CUresult QueryStream(CUstream handle, DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (const CUresult error = Implicit(*stream)) return error;
  if (const CUresult error = Capturing(*stream)) return error;
  if (stream->kind == StreamKind::kLegacy) {
    const OpPtr busy = FirstBusy(*stream);
    if (busy && !call.machine.Poll(call.lock, busy)) return CUDA_ERROR_NOT_READY;
    if (FirstBusy(*stream)) return CUDA_ERROR_NOT_READY;
  }
  return call.machine.Poll(call.lock, stream->tail) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
VGPU_STREAM_EXPORT(cuStreamQuery, _ptsz, (CUstream stream), QueryStream(stream, kDefault))

// A wait for an event that was recorded while capturing joins the stream to that capture.
static CUresult CaptureWait(Stream& stream, Event& event, unsigned flags) {
  if (flags) {
    if (!stream.capture) return CUDA_ERROR_INVALID_VALUE;
    GraphNode* node = CaptureNode(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    node->event = &event;
    node->work = {Work::kMarker, "wait"};
    return CUDA_SUCCESS;
  }
  if (!event.capture) {
    stream.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (stream.kind == StreamKind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  stream.capture = const_cast<Capture*>(event.capture);
  stream.capture->streams.insert(&stream);
  for (GraphNode* node : event.nodes) {
    auto& frontier = stream.frontier;
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) {
      frontier.push_back(node);
    }
  }
  return CUDA_SUCCESS;
}

static CUresult WaitEvent(CUstream handle, CUevent event_handle, unsigned int flags,
                          DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  Event* event = call.machine.events.Find(event_handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = Implicit(*stream)) return error;
  if (flags || stream->capture || event->capture) return CaptureWait(*stream, *event, flags);
  return call.Run(*stream, WaitFor(*event));
}
VGPU_STREAM_EXPORT(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned int flags),
                   WaitEvent(stream, event, flags, kDefault))

// What a getter of a stream says, or an error.
template <typename Value, typename Get>
static CUresult Describe(CUstream handle, DefaultStream which, Value* value, Get get) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  *value = get(*stream);
  return CUDA_SUCCESS;
}
static CUcontext ContextOf(const Stream& stream) { return Handle(stream.context); }
static unsigned FlagsOf(const Stream& stream) { return stream.kind == StreamKind::kNonBlocking; }
static int PriorityOf(const Stream& stream) { return stream.priority; }
static unsigned long long IdOf(const Stream& stream) { return stream.id; }
static CUdevice DeviceOf(const Stream& stream) { return stream.context->device; }
VGPU_STREAM_EXPORT(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext* context),
                   Describe(stream, kDefault, context, ContextOf))
VGPU_STREAM_EXPORT(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned int* flags),
                   Describe(stream, kDefault, flags, FlagsOf))
VGPU_STREAM_EXPORT(cuStreamGetPriority, _ptsz, (CUstream stream, int* priority),
                   Describe(stream, kDefault, priority, PriorityOf))
VGPU_STREAM_EXPORT(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long* id),
                   Describe(stream, kDefault, id, IdOf))
VGPU_STREAM_EXPORT(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice* device),
                   Describe(stream, kDefault, device, DeviceOf))

static CUresult HostFunction(CUstream handle, std::string name, std::function<void(uint32_t)> run,
                             DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  return call.Run(*stream, {Work::kHostFunction, std::move(name), 1, std::move(run)});
}

static CUresult LaunchHost(CUstream stream, CUhostFn function, void* data, DefaultStream which) {
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  return HostFunction(
      stream, "host function", [=](uint32_t) { function(data); }, which);
}
VGPU_STREAM_EXPORT(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data),
                   LaunchHost(stream, function, data, kDefault))

static CUresult AddCallback(CUstream stream, CUstreamCallback callback, void* data,
                            unsigned int flags, DefaultStream which) {
  if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
  return HostFunction(
      stream, "callback", [=](uint32_t) { callback(stream, CUDA_SUCCESS, data); }, which);
}
VGPU_STREAM_EXPORT(cuStreamAddCallback, _ptsz,
                   (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                   AddCallback(stream, callback, data, flags, kDefault))
