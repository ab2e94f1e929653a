// Green contexts, and events over a whole context (rule 15).
#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/word_map.h"

namespace ss::capture {
namespace {

WordMap g_greens;  // CUgreenCtx -> CUcontext

uint64_t Handle(CUcontext context) { return reinterpret_cast<uint64_t>(context); }

// A green context keeps its device's primary one alive, so that asking for that changes nothing.
uint64_t PrimaryOf(CUdevice device) {
  const Driver& driver = TheDriver();
  CUcontext primary = nullptr;
  if (!driver.primary_ctx_retain || !driver.primary_ctx_release) return 0;
  if (driver.primary_ctx_retain(&primary, device) != CUDA_SUCCESS) return 0;
  driver.primary_ctx_release(device);
  return Handle(primary);
}

// The context that a green one is converted to, after its ContextCreate record; 0 = the driver does
// not tell. `device`: negative = ask for it.
uint64_t Learn(Thread& thread, void* green, CUdevice device) {
  const Driver& driver = TheDriver();
  CUcontext context = nullptr;
  if (!driver.ctx_from_green_ctx || driver.ctx_from_green_ctx(&context, green) != CUDA_SUCCESS)
    return 0;
  if (device < 0) device = DeviceOf(Handle(context));
  const uint64_t primary = PrimaryOf(device);
  if (primary != 0) NoteContext(thread, primary, device);
  NoteContext(thread, Handle(context), device, primary);
  g_greens.Set(reinterpret_cast<uint64_t>(green), Handle(context));
  return Handle(context);
}

template <class View, class Target>
CUresult OverContext(Call& call, uint64_t context, Target target, CUevent event) {
  const uint64_t stack = call.Stack();
  const CUresult result = call.Forward(target, event);
  call.Emit(View{.context = context,
                 .event = reinterpret_cast<uint64_t>(event),
                 .result = result,
                 .stack = stack});
  return result;
}

uint64_t Seen(Call& call, CUcontext context) {
  SeenContext(*call.thread, Handle(context));
  return Handle(context);
}

}  // namespace

uint64_t GreenContext(Thread& thread, void* green) {
  const uint64_t known = g_greens.Get(reinterpret_cast<uint64_t>(green));
  if (known != 0 || green == nullptr) return known;
  constexpr CUdevice kUnknown = -1;
  return Learn(thread, green, kUnknown);
}

CUresult GreenCtxCreate(Call& call, void** green, void* resources, CUdevice device,
                        unsigned flags) {
  const CUresult result = call.Forward(green, resources, device, flags);
  if (result == CUDA_SUCCESS) Learn(*call.thread, *green, device);
  return result;
}

CUresult GreenCtxDestroy(Call& call, void* green) {
  const uint64_t context = GreenContext(*call.thread, green);
  BreadcrumbContextGoes(context);
  const CUresult result = call.Forward(green);
  if (result != CUDA_SUCCESS) return result;
  g_greens.Set(reinterpret_cast<uint64_t>(green), 0);
  if (ForgetContext(*call.thread, context)) {
    call.Emit(trace::view::ContextDestroy{.context = context});
  }
  return result;
}

CUresult CtxRecordEvent(Call& call, CUcontext context, CUevent event) {
  return OverContext<trace::view::ContextRecord>(call, Seen(call, context), context, event);
}

CUresult CtxWaitEvent(Call& call, CUcontext context, CUevent event) {
  return OverContext<trace::view::ContextWait>(call, Seen(call, context), context, event);
}

CUresult GreenCtxRecordEvent(Call& call, void* green, CUevent event) {
  return OverContext<trace::view::ContextRecord>(call, GreenContext(*call.thread, green), green,
                                                 event);
}

CUresult GreenCtxWaitEvent(Call& call, void* green, CUevent event) {
  return OverContext<trace::view::ContextWait>(call, GreenContext(*call.thread, green), green,
                                               event);
}

bool InitGreens() { return g_greens.Init(10); }
void ResetGreens() { g_greens.Clear(); }

}  // namespace ss::capture
