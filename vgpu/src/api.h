// What the functions of the interface share: entry checks, stream handles, exported names.
#pragma once

#include <cuda.h>

#include "machine.h"
#include "options.h"

#define VGPU_EXPORT extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

// A call whose handle 0 means the legacy default stream, and its twin (`_ptsz`, `_ptds`) whose
// handle 0 means the thread's own. `body` sees which as `kDefault`.
#define VGPU_STREAM_EXPORT(name, suffix, parameters, body)           \
  VGPU_EXPORT name parameters {                                      \
    constexpr auto kDefault = ::ss::vgpu::DefaultStream::kLegacy;    \
    return body;                                                     \
  }                                                                  \
  VGPU_EXPORT name##suffix parameters {                              \
    constexpr auto kDefault = ::ss::vgpu::DefaultStream::kPerThread; \
    return body;                                                     \
  }

// Enters the driver; leaves the function when it may not be entered (or has no current context).
#define VGPU_ENTER(call) \
  ::ss::vgpu::Call call; \
  if (call.error) return call.error
#define VGPU_ENTER_CONTEXT(call) \
  VGPU_ENTER(call);              \
  if (!call.context) return CUDA_ERROR_INVALID_CONTEXT

namespace ss::vgpu {

enum class DefaultStream : uint8_t { kLegacy, kPerThread };

// One call of the interface: holds the machine's lock from its construction on.
struct Call {
  Call();

  Machine& machine;
  std::unique_lock<std::mutex> lock;
  CUresult error = CUDA_SUCCESS;
  Context* context = nullptr;  // current, may be null

  // Resolves a handle; CUDA_ERROR_INVALID_HANDLE, or INVALID_CONTEXT for a default stream without
  // context.
  CUresult Find(CUstream handle, DefaultStream which, Stream** stream);
  // Queues, and lets the device run as the policy likes.
  CUresult Run(Stream& stream, NewOp what);
  // Queues and waits for completion.
  CUresult RunAndWait(Stream& stream, NewOp what);
  CUresult Wait(const std::vector<OpPtr>& targets) { return machine.Wait(lock, targets); }
};

// The current contexts of this thread, top last; only live ones.
std::vector<Context*>& ContextStack(const Machine& machine);

bool ValidDevice(CUdevice device);

inline CUcontext Handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

}  // namespace ss::vgpu
