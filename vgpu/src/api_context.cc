// Primary and created contexts; the stack of current contexts of each thread.
#include "api_graph.h"

using namespace ss::vgpu;

static Context* Live(Machine& machine, CUcontext handle) { return machine.contexts.Find(handle); }

static CUresult Create(CUcontext* context, unsigned int flags, CUdevice device) {
  VGPU_ENTER(call);
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context* made = call.machine.AddContext(device, false, flags);
  ContextStack(call.machine).push_back(made);
  *context = Handle(made);
  return CUDA_SUCCESS;
}
#undef cuCtxCreate
VGPU_EXPORT cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return Create(context, flags, device);
}
VGPU_EXPORT cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return Create(context, flags, device);
}
VGPU_EXPORT cuCtxCreate_v3(CUcontext* context, void*, int affinities, unsigned int flags,
                           CUdevice device) {
  return affinities ? CUDA_ERROR_NOT_SUPPORTED : Create(context, flags, device);
}
#if CUDA_VERSION >= 12050
VGPU_EXPORT cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags,
                           CUdevice device) {
  return params ? CUDA_ERROR_NOT_SUPPORTED : Create(context, flags, device);
}
#endif

// Work that is queued is done first: what a destroyed context leaves behind is not defined.
static CUresult Drain(Call& call, Context* context) {
  const CUresult result = call.Wait(call.machine.Tails(*context));
  if (result == CUDA_SUCCESS) call.machine.RemoveContext(context);
  return result;
}

static CUresult Destroy(CUcontext handle) {
  VGPU_ENTER(call);
  Context* context = Live(call.machine, handle);
  if (!context || context->primary || context->green_of) return CUDA_ERROR_INVALID_CONTEXT;
  return Drain(call, context);
}
#undef cuCtxDestroy
VGPU_EXPORT cuCtxDestroy(CUcontext context) { return Destroy(context); }
VGPU_EXPORT cuCtxDestroy_v2(CUcontext context) { return Destroy(context); }

static CUresult Push(CUcontext handle) {
  VGPU_ENTER(call);
  Context* context = Live(call.machine, handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  ContextStack(call.machine).push_back(context);
  return CUDA_SUCCESS;
}
#undef cuCtxPushCurrent
VGPU_EXPORT cuCtxPushCurrent(CUcontext context) { return Push(context); }
VGPU_EXPORT cuCtxPushCurrent_v2(CUcontext context) { return Push(context); }

static CUresult Pop(CUcontext* context) {
  VGPU_ENTER_CONTEXT(call);
  if (context) *context = Handle(call.context);
  ContextStack(call.machine).pop_back();
  return CUDA_SUCCESS;
}
#undef cuCtxPopCurrent
VGPU_EXPORT cuCtxPopCurrent(CUcontext* context) { return Pop(context); }
VGPU_EXPORT cuCtxPopCurrent_v2(CUcontext* context) { return Pop(context); }

VGPU_EXPORT cuCtxSetCurrent(CUcontext handle) {
  VGPU_ENTER(call);
  Context* context = Live(call.machine, handle);
  if (handle && !context) return CUDA_ERROR_INVALID_CONTEXT;
  auto& stack = ContextStack(call.machine);
  if (!stack.empty()) stack.pop_back();
  if (context) stack.push_back(context);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxGetCurrent(CUcontext* context) {
  VGPU_ENTER(call);
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  *context = Handle(call.context);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxGetDevice(CUdevice* device) {
  VGPU_ENTER_CONTEXT(call);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = call.context->device;
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  VGPU_ENTER(call);
  Context* context = Live(call.machine, handle);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxGetFlags(unsigned int* flags) {
  VGPU_ENTER_CONTEXT(call);
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  *flags = call.context->flags;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxGetId(CUcontext handle, unsigned long long* id) {
  VGPU_ENTER(call);
  Context* context = handle ? Live(call.machine, handle) : call.context;
  if (!context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!id) return CUDA_ERROR_INVALID_VALUE;
  *id = context->id;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  VGPU_ENTER(call);
  if (handle && !Live(call.machine, handle)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuCtxSynchronize() {
  VGPU_ENTER_CONTEXT(call);
  if (const CUresult error = Forbidden(call)) return error;
  return call.Wait(call.machine.Tails(*call.context));
}
VGPU_EXPORT cuCtxSynchronize_v2(CUcontext handle) {
  VGPU_ENTER(call);
  Context* context = handle ? Live(call.machine, handle) : call.context;
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return call.Wait(call.machine.Tails(*context));
}

VGPU_EXPORT cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  VGPU_ENTER_CONTEXT(call);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  VGPU_ENTER(call);
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context*& primary = call.machine.primaries[static_cast<size_t>(device)];
  if (!primary) primary = call.machine.AddContext(device, true, 0);
  ++primary->retained;
  *context = Handle(primary);
  return CUDA_SUCCESS;
}

static CUresult EndPrimary(CUdevice device, bool reset) {
  VGPU_ENTER(call);
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context* primary = call.machine.primaries[static_cast<size_t>(device)];
  if (!primary) return reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  if (!reset && --primary->retained > 0) return CUDA_SUCCESS;
  const std::vector<Context*> greens = call.machine.GreenOf(*primary);
  const CUresult result = Drain(call, primary);
  if (result == CUDA_SUCCESS) {
    for (Context* green : greens) call.machine.RemoveContext(green);
  }
  call.machine.primaries[static_cast<size_t>(device)] = nullptr;
  return result;
}
#undef cuDevicePrimaryCtxRelease
VGPU_EXPORT cuDevicePrimaryCtxRelease(CUdevice device) { return EndPrimary(device, false); }
VGPU_EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice device) { return EndPrimary(device, false); }
#undef cuDevicePrimaryCtxReset
VGPU_EXPORT cuDevicePrimaryCtxReset(CUdevice device) { return EndPrimary(device, true); }
VGPU_EXPORT cuDevicePrimaryCtxReset_v2(CUdevice device) { return EndPrimary(device, true); }

// Scheduling flags change nothing here.
static CUresult SetFlags(CUdevice device) {
  VGPU_ENTER(call);
  return ValidDevice(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
#undef cuDevicePrimaryCtxSetFlags
VGPU_EXPORT cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int) { return SetFlags(device); }
VGPU_EXPORT cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int) {
  return SetFlags(device);
}

VGPU_EXPORT cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  VGPU_ENTER(call);
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = call.machine.primaries[static_cast<size_t>(device)] != nullptr;
  return CUDA_SUCCESS;
}
