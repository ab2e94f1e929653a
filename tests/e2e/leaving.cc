// Leaves main with work queued, while static objects that the work uses, and that use the driver,
// go.
#include <cuda.h>
#include <sys/mman.h>

#include <cstdlib>
#include <thread>

namespace {

constexpr size_t kBytes = 4 << 20;

CUdeviceptr block = 0;
CUstream stream = nullptr;

// Memory that is gone from the address space once the destructor has run.
struct Data {
  Data() {
    memory = static_cast<volatile char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Data() {
    munmap(const_cast<char*>(memory), kBytes);
    cuStreamSynchronize(stream);
  }
  volatile char* memory;
} data;

void Work(void*) {
  for (size_t i = 0; i < kBytes; ++i) data.memory[i] = 1;
}

void AtExit() {
  CUcontext context;
  cuCtxGetCurrent(&context);
}

}  // namespace

int main() {
  CUcontext context;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 9;
  if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&block, 4096)) return 9;
  std::atexit(AtExit);
  for (int i = 0; i < 50; ++i) {
    if (cuLaunchHostFunc(stream, Work, nullptr)) return 9;
  }
  std::thread([context] {  // still at it when main has returned
    cuCtxSetCurrent(context);
    while (cuMemsetD8Async(block, 1, 64, stream) == CUDA_SUCCESS) cuStreamSynchronize(stream);
  })
      .detach();
  return 3;
}
