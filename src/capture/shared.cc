// Memory that is mapped into reserved addresses, and memory and events of other processes by
// interprocess handles.
#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/ranges.h"
#include "src/capture/sharing.h"

namespace ss::capture {
namespace {

// The schema's `kind`s.
constexpr uint64_t kMapped = 5, kForeign = 6;

template <class Pointer>
uint64_t Id(Pointer pointer) {
  return (uint64_t)pointer;
}

// How far what begins there goes: the call that opens it does not say.
uint64_t SizeOf(CUdeviceptr address) {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  const Driver& driver = TheDriver();
  if (!driver.get_address_range) return 0;
  if (driver.get_address_range(&base, &bytes, address) != CUDA_SUCCESS) return 0;
  return base + bytes - address;
}

}  // namespace

bool Shares(const Call& call) {
  if (IsPrivate(call)) return false;
  g_shares.store(true);
  return true;
}

void Share(Call& call, bool shares, uint64_t kind, bool opened, uint64_t object, const void* handle,
           size_t bytes, uint64_t stack) {
  if (!shares) return;
  call.Emit(trace::view::Shared{.kind = kind,
                                .opened = opened,
                                .object = object,
                                .handle = {static_cast<const char*>(handle), bytes},
                                .stack = stack});
}

void Opened(Call& call, bool shares, uint64_t address, uint64_t stack) {
  uint64_t bytes = SizeOf(address);
  g_ranges.device.Widen(address, address + bytes);
  call.Emit(trace::view::Alloc{.address = address,
                               .bytes = bytes,
                               .kind = kForeign,
                               .context = CurrentContext(*call.thread),
                               .is_private = !shares,
                               .stack = stack});
}

CUresult MemMap(Call& call, CUdeviceptr address, size_t bytes, size_t offset,
                unsigned long long handle, unsigned long long flags) {
  uint64_t context = CurrentContext(*call.thread);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) g_ranges.device.Widen(address, address + bytes);
  call.Emit(trace::view::Alloc{.address = address,
                               .bytes = bytes,
                               .kind = kMapped,
                               .context = context,
                               .result = result,
                               .stack = stack,
                               .handle = handle});
  return result;
}

CUresult MemUnmap(Call& call, CUdeviceptr address, size_t bytes) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(address, bytes);
  call.Emit(trace::view::Free{
      .address = address, .kind = kMapped, .result = result, .stack = stack, .bytes = bytes});
  return result;
}

CUresult IpcGetMemHandle(Call& call, CUipcMemHandle* handle, CUdeviceptr address) {
  const bool shares = Shares(call);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(handle, address);
  if (result == CUDA_SUCCESS)
    Share(call, shares, kSharedMemory, false, address, handle, sizeof *handle, stack);
  return result;
}

CUresult IpcOpenMemHandle(Call& call, CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  const bool shares = Shares(call);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(address, handle, flags);
  if (result != CUDA_SUCCESS) return result;
  Opened(call, shares, *address, stack);
  Share(call, shares, kSharedMemory, true, *address, &handle, sizeof handle, stack);
  return result;
}

CUresult IpcCloseMemHandle(Call& call, CUdeviceptr address) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(address);
  call.Emit(
      trace::view::Free{.address = address, .kind = kForeign, .result = result, .stack = stack});
  return result;
}

CUresult IpcGetEventHandle(Call& call, CUipcEventHandle* handle, CUevent event) {
  const bool shares = Shares(call);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(handle, event);
  if (result == CUDA_SUCCESS)
    Share(call, shares, kSharedEvent, false, Id(event), handle, sizeof *handle, stack);
  return result;
}

CUresult IpcOpenEventHandle(Call& call, CUevent* event, CUipcEventHandle handle) {
  const bool shares = Shares(call);
  uint64_t context = CurrentContext(*call.thread);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(event, handle);
  if (result != CUDA_SUCCESS) return result;
  call.Emit(trace::view::EventCreate{.event = Id(*event), .context = context, .foreign = 1});
  Share(call, shares, kSharedEvent, true, Id(*event), &handle, sizeof handle, stack);
  return result;
}

}  // namespace ss::capture
