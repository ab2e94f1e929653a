#include <cuda.h>

extern "C" __attribute__((visibility("default"))) CUresult cublas_for_test_alloc(
    CUdeviceptr* address, size_t bytes) {
  CUresult result = cuMemAlloc(address, bytes);
  asm volatile("" ::: "memory");  // no tail call: the call must come from here
  return result;
}
