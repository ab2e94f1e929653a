#include "gpu.h"

#include <cstdio>
#include <cstdlib>

#include "kernel_table.h"
#include "streamsan/annotate.h"

namespace ss::incidents {

namespace {

streamsan_mode Mode(char letter) {
  switch (letter) {
    case 'r':
      return STREAMSAN_READ;
    case 'w':
      return STREAMSAN_WRITE;
    case 'a':
      return STREAMSAN_ATOMIC;
    default:
      return STREAMSAN_READ_WRITE;
  }
}

}  // namespace

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", what, name ? name : "unknown error");
  std::exit(2);
}

Gpu::Gpu(uint64_t delay_ns, bool declare) : delay_ns_(delay_ns) {
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&context_, 0));
  CU(cuCtxSetCurrent(context_));
  const void* image = KernelImage();
  if (!image) {
    std::fprintf(stderr,
                 "no kernels for a real GPU in this build: configure with -DSTREAMSAN_CUDA=ON "
                 "(needs nvcc), or run on the virtual GPU\n");
    std::exit(2);
  }
  CU(cuModuleLoadData(&module_, image));
  for (const KernelUse& use : KernelUses()) {
    CUfunction function = nullptr;
    CU(cuModuleGetFunction(&function, module_, use.name));
    for (uint32_t i = 0; declare && use.pointers[i]; ++i) {
      streamsan_kernel_access(function, i * sizeof(void*), Mode(use.pointers[i]));
    }
    kernels_[use.name] = function;
  }
}

Gpu::~Gpu() {
  CU(cuCtxSynchronize());
  for (CUdeviceptr buffer : buffers_) CU(cuMemFree(buffer));
  for (CUevent event : events_) CU(cuEventDestroy(event));
  for (CUstream stream : streams_) CU(cuStreamDestroy(stream));
  CU(cuModuleUnload(module_));
  CU(cuDevicePrimaryCtxRelease(0));
}

CUstream Gpu::Stream(const char* name) {
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  streamsan_stream_name(stream, name);
  streams_.push_back(stream);
  return stream;
}

CUstream Gpu::DefaultStream(const char* name) {
  streamsan_stream_name(CU_STREAM_LEGACY, name);
  return CU_STREAM_LEGACY;
}

CUevent Gpu::Event() {
  CUevent event = nullptr;
  CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  events_.push_back(event);
  return event;
}

CUdeviceptr Gpu::Allocate(size_t bytes, const char* name) {
  CUdeviceptr address = 0;
  CU(cuMemAlloc(&address, bytes));
  buffers_.push_back(address);
  streamsan_buffer(reinterpret_cast<const void*>(address), bytes, name);
  CU(cuMemsetD8(address, 0, bytes));
  CU(cuCtxSynchronize());
  return address;
}

void Gpu::WaitStream(CUstream consumer, CUstream producer) {
  CUevent event = nullptr;
  CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CU(cuEventRecord(event, producer));
  CU(cuStreamWaitEvent(consumer, event, 0));
  CU(cuEventDestroy(event));
}

}  // namespace ss::incidents
