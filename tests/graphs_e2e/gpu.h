// The device, its two kernels and what the cases share.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "streamsan/annotate.h"
#include "vgpu/kernel.h"

constexpr uint32_t kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(uint32_t);

inline void Check(CUresult result, const char* what, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, name ? name : "unknown error");
  std::exit(2);
}
#define CU(call) Check((call), #call, __LINE__)

enum class Way { kRacy, kFixed, kLookalike };

const void* Image();  // of the kernels

struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction fill = nullptr, move = nullptr;

  Gpu() {
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuModuleLoadData(&module, Image()));
    CU(cuModuleGetFunction(&fill, module, "fill"));
    CU(cuModuleGetFunction(&move, module, "move"));
    streamsan_kernel_access(fill, 0, STREAMSAN_WRITE);
    streamsan_kernel_access(move, 0, STREAMSAN_WRITE);
    streamsan_kernel_access(move, 8, STREAMSAN_READ);
  }

  CUstream Stream(const char* name, unsigned flags = CU_STREAM_NON_BLOCKING) const {
    CUstream stream;
    CU(cuStreamCreate(&stream, flags));
    streamsan_stream_name(stream, name);
    return stream;
  }
  CUevent Event() const {
    CUevent event;
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
  }
  CUdeviceptr Buffer(const char* name) const {
    CUdeviceptr at;
    CU(cuMemAlloc(&at, kBytes));
    streamsan_buffer(reinterpret_cast<void*>(at), kBytes, name);
    CU(cuMemsetD32(at, 0, kCount));
    CU(cuCtxSynchronize());
    return at;
  }
  void Fill(CUstream stream, CUdeviceptr to, uint32_t value) const {
    uint32_t n = kCount;
    void* arguments[] = {&to, &value, &n};
    CU(cuLaunchKernel(fill, 8, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  }
  void Move(CUstream stream, CUdeviceptr to, CUdeviceptr from) const {
    uint32_t n = kCount;
    void* arguments[] = {&to, &from, &n};
    CU(cuLaunchKernel(move, 8, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  }
  void WaitStream(CUstream consumer, CUstream producer) const {
    CUevent event = Event();
    CU(cuEventRecord(event, producer));
    CU(cuStreamWaitEvent(consumer, event, 0));
    CU(cuEventDestroy(event));
  }
  CUgraphExec Instantiate(CUgraph graph) const {
    CUgraphExec exec;
    CU(cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  bool Holds(CUdeviceptr buffer, uint32_t value) const {
    CU(cuCtxSynchronize());
    std::vector<uint32_t> host(kCount);
    CU(cuMemcpyDtoH(host.data(), buffer, kBytes));
    for (uint32_t word : host) {
      if (word != value) return false;
    }
    return true;
  }
};

struct KernelNode {
  CUDA_KERNEL_NODE_PARAMS params{};
  CUdeviceptr to, from;
  uint32_t value, n = kCount;
  void* arguments[3];

  KernelNode(CUfunction function, CUdeviceptr target, CUdeviceptr source, uint32_t number)
      : to(target), from(source), value(number) {
    arguments[0] = &to;
    arguments[1] = source ? static_cast<void*>(&from) : static_cast<void*>(&value);
    arguments[2] = &n;
    params.func = function;
    params.gridDimX = 8;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 32;
    params.kernelParams = arguments;
  }
};

inline CUDA_MEMCPY3D Linear(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

// change_cases.cc
bool Switched(const Gpu& gpu, Way way);
bool Ended(const Gpu& gpu, Way way);
bool Freed(const Gpu& gpu, Way way);
// context_cases.cc
bool RecordedOver(const Gpu& gpu, Way way);
bool HeldUp(const Gpu& gpu, Way way);
bool Synchronised(const Gpu& gpu, Way way);
// Cases that are not about graphs (order_cases.cc).
bool Values(const Gpu& gpu, Way way);
bool Mapped(const Gpu& gpu, Way way);
bool Started(const Gpu& gpu, Way way);
bool Batched(const Gpu& gpu, Way way);
bool AnyTime(const Gpu& gpu, Way way);
bool Chained(const Gpu& gpu, Way way);
bool Boxes(const Gpu& gpu, Way way);
bool Managed(const Gpu& gpu, Way way);
bool Columns(const Gpu& gpu, Way way);
bool Refused(const Gpu& gpu, Way way);
