// Green contexts, and events over a whole context (rule 15). A green context has streams of its
// own; all else that is made while it is current belongs to its device's primary context.
#include <algorithm>

#include "api_graph.h"
#include "ipc.h"

#if CUDA_VERSION >= 12050

using namespace ss::vgpu;

static constexpr unsigned kMultiprocessors = 128;
static constexpr unsigned kLeastGroup = 8;

static CUdevResource Multiprocessors(unsigned count) {
  CUdevResource resource = {};
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  resource.sm.smCount = count;
  resource.sm.minSmPartitionSize = kLeastGroup;
  resource.sm.smCoscheduledAlignment = kLeastGroup;
  return resource;
}

VGPU_EXPORT cuDeviceGetDevResource(CUdevice device, CUdevResource* resource,
                                   CUdevResourceType type) {
  VGPU_ENTER(call);
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!resource) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *resource = Multiprocessors(kMultiprocessors);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDevSmResourceSplitByCount(CUdevResource* groups, unsigned int* count,
                                        const CUdevResource* whole, CUdevResource* rest,
                                        unsigned int, unsigned int least) {
  VGPU_ENTER(call);
  if (!count || !whole || whole->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  const unsigned size = (std::max(least, 1u) + kLeastGroup - 1) / kLeastGroup * kLeastGroup;
  const unsigned fit = whole->sm.smCount / size;
  if (!groups) {
    *count = fit;
    return CUDA_SUCCESS;
  }
  *count = std::min(*count, fit);
  if (*count == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  for (unsigned i = 0; i < *count; ++i) groups[i] = Multiprocessors(size);
  if (rest) *rest = Multiprocessors(whole->sm.smCount - *count * size);
  return CUDA_SUCCESS;
}

// A descriptor says nothing that matters here.
VGPU_EXPORT cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                      unsigned int count) {
  VGPU_ENTER(call);
  if (!description || !resources || count == 0) return CUDA_ERROR_INVALID_VALUE;
  static char any;
  *description = reinterpret_cast<CUdevResourceDesc>(&any);
  return CUDA_SUCCESS;
}

static Context* Find(const Call& call, CUgreenCtx handle) {
  Context* context = call.machine.contexts.Find(handle);
  return context && context->green_of ? context : nullptr;
}

VGPU_EXPORT cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device,
                             unsigned int flags) {
  VGPU_ENTER(call);
  if (!green || !description || flags != CU_GREEN_CTX_DEFAULT_STREAM)
    return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context*& primary = call.machine.primaries[static_cast<size_t>(device)];
  if (!primary) primary = call.machine.AddContext(device, true, 0);
  ++primary->retained;
  Context* made = call.machine.AddContext(device, false, 0);
  made->green_of = primary;
  *green = reinterpret_cast<CUgreenCtx>(made);
  return CUDA_SUCCESS;
}

static CUresult Remove(CUgreenCtx handle, CUdevice* device) {
  VGPU_ENTER(call);
  Context* green = Find(call, handle);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  *device = green->device;
  const CUresult result = call.Wait(call.machine.Tails(*green));
  if (result == CUDA_SUCCESS) call.machine.RemoveContext(green);
  return result;
}
VGPU_EXPORT cuGreenCtxDestroy(CUgreenCtx green) {
  CUdevice device = 0;
  if (const CUresult error = Remove(green, &device)) return error;
  return cuDevicePrimaryCtxRelease(device);
}

VGPU_EXPORT cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx handle) {
  VGPU_ENTER(call);
  Context* green = Find(call, handle);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  *context = Handle(green);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* green) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, DefaultStream::kLegacy, &stream)) return error;
  if (!green) return CUDA_ERROR_INVALID_VALUE;
  *green = stream->context->green_of ? reinterpret_cast<CUgreenCtx>(stream->context) : nullptr;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx handle, unsigned int flags,
                                   int priority) {
  VGPU_ENTER(call);
  Context* green = Find(call, handle);
  if (!green) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stream || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream =
      reinterpret_cast<CUstream>(call.machine.AddStream(green, StreamKind::kNonBlocking, priority));
  return CUDA_SUCCESS;
}

// --- events over a context

// A capture of one of its streams is spoilt, and the call refused.
static CUresult AnyCapturing(Call& call, const Context& context) {
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : call.machine.captures) {
    for (const Stream* stream : capture->streams) {
      const Context* home = stream->context;
      if (home != &context && home->green_of != &context) continue;
      capture->broken = true;
      result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return result;
}

static Stream& Inner(Call& call, Context& context, Stream*& stream) {
  if (!stream) stream = call.machine.AddStream(&context, StreamKind::kInner, 0);
  return *stream;
}

static CUresult RecordOver(Call& call, Context* context, CUevent handle) {
  Event* event = call.machine.events.Find(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!event || event->context != RootOf(context)) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = AnyCapturing(call, *context)) return error;
  NewOp record = RecordOf(*event);
  for (const OpPtr& tail : call.machine.Tails(*context)) record.after.push_back(tail);
  event->capture = nullptr;
  event->record = call.machine.Issue(Inner(call, *context, context->records), std::move(record));
  call.machine.HostStep(call.lock);
  return CUDA_SUCCESS;
}

static CUresult WaitOver(Call& call, Context* context, CUevent handle) {
  Event* event = call.machine.events.Find(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) {
    const_cast<Capture*>(event->capture)->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (const CUresult error = AnyCapturing(call, *context)) return error;
  call.machine.Issue(Inner(call, *context, context->waits), WaitFor(*event));
  call.machine.HostStep(call.lock);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxRecordEvent(CUcontext context, CUevent event) {
  VGPU_ENTER(call);
  return RecordOver(call, call.machine.contexts.Find(context), event);
}
VGPU_EXPORT cuCtxWaitEvent(CUcontext context, CUevent event) {
  VGPU_ENTER(call);
  return WaitOver(call, call.machine.contexts.Find(context), event);
}
VGPU_EXPORT cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
  VGPU_ENTER(call);
  return RecordOver(call, Find(call, green), event);
}
VGPU_EXPORT cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
  VGPU_ENTER(call);
  return WaitOver(call, Find(call, green), event);
}

#endif
