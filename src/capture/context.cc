// The process's first call and contexts.
#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

constexpr CUdevice kMaxDevices = 256;
std::atomic<uint64_t> g_primary[kMaxDevices];  // CUcontext by device

uint64_t Handle(CUcontext context) { return reinterpret_cast<uint64_t>(context); }

template <class... A>
CUresult Create(Call& call, CUdevice device, CUcontext* context, A... arguments) {
  CUresult result = call.Forward(context, arguments...);
  if (result == CUDA_SUCCESS) NoteContext(*call.thread, Handle(*context), device);
  return result;
}

CUresult Synchronize(Call& call, CUresult result, uint64_t context, uint64_t stack) {
  call.Emit(trace::view::ContextSync{.context = context, .result = result, .stack = stack});
  NoteCountedCalls(*call.thread, true);
  return result;
}

}  // namespace

CUresult Init(RawCall& call, unsigned flags) {
  bool was_up = DriverWasUp();
  CUresult result = call.Plain(flags);
  if (result == CUDA_SUCCESS) OnInit(was_up);
  return result;
}

CUresult CtxCreate(Call& call, CUcontext* context, unsigned flags, CUdevice device) {
  return Create(call, device, context, flags, device);
}

CUresult CtxCreateAffinity(Call& call, CUcontext* context, void* affinity, int count,
                           unsigned flags, CUdevice device) {
  return Create(call, device, context, affinity, count, flags, device);
}

CUresult CtxCreateParams(Call& call, CUcontext* context, void* params, unsigned flags,
                         CUdevice device) {
  return Create(call, device, context, params, flags, device);
}

CUresult CtxDestroy(Call& call, CUcontext context) {
  BreadcrumbContextGoes(Handle(context));
  CUresult result = call.Forward(context);
  if (result == CUDA_SUCCESS && ForgetContext(*call.thread, Handle(context))) {
    call.Emit(trace::view::ContextDestroy{.context = Handle(context)});
  }
  return result;
}

CUresult CtxSynchronize(Call& call) {
  uint64_t context = CurrentContext(*call.thread);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward();
  return Synchronize(call, result, context, stack);
}

CUresult CtxSynchronizeOf(Call& call, CUcontext context) {
  uint64_t handle = context ? Handle(context) : CurrentContext(*call.thread);
  SeenContext(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(context);
  return Synchronize(call, result, handle, stack);
}

CUresult PrimaryCtxRetain(Call& call, CUcontext* context, CUdevice device) {
  CUresult result = call.Forward(context, device);
  if (result != CUDA_SUCCESS) return result;
  if (device >= 0 && device < kMaxDevices) g_primary[device].store(Handle(*context));
  NoteContext(*call.thread, Handle(*context), device);
  return result;
}

// Release and reset: the context is gone when the driver says that it is not active any more.
CUresult PrimaryCtxDrop(Call& call, CUdevice device) {
  if (device >= 0 && device < kMaxDevices) BreadcrumbContextGoes(g_primary[device].load());
  CUresult result = call.Forward(device);
  if (result != CUDA_SUCCESS || device < 0 || device >= kMaxDevices) return result;
  unsigned flags = 0;
  int active = 0;
  const Driver& driver = TheDriver();
  if (!driver.primary_ctx_get_state) return result;
  if (driver.primary_ctx_get_state(device, &flags, &active) != CUDA_SUCCESS || active)
    return result;
  uint64_t context = g_primary[device].exchange(0);
  if (context && ForgetContext(*call.thread, context)) {
    call.Emit(trace::view::ContextDestroy{.context = context});
  }
  return result;
}

}  // namespace ss::capture
