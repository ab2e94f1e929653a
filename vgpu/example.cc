// A first program for the virtual GPU: one stream writes, another one copies. With any argument the
// copy waits for the write; without, nothing orders the two.
#include <cuda.h>
#include <streamsan/annotate.h>
#include <vgpu/kernel.h>

VGPU_KERNEL(fill, (int* to, int value, int n)) {
  for (int i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = value;
}

int main(int argc, char**) {
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr data, copy;
  CUstream writer, reader;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, vgpu::Image());
  cuModuleGetFunction(&kernel, module, "fill");
  streamsan_kernel_access(kernel, 0, STREAMSAN_WRITE);  // its first parameter
  cuMemAlloc(&data, 4096);
  cuMemAlloc(&copy, 4096);
  cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&reader, CU_STREAM_NON_BLOCKING);
  int value = 1, n = 1024;
  void* arguments[] = {&data, &value, &n};
  cuLaunchKernel(kernel, 8, 1, 1, 32, 1, 1, 0, writer, arguments, nullptr);
  if (argc > 1) {  // the missing edge
    CUevent written;
    cuEventCreate(&written, CU_EVENT_DISABLE_TIMING);
    cuEventRecord(written, writer);
    cuStreamWaitEvent(reader, written, 0);
  }
  cuMemcpyDtoDAsync(copy, data, 4096, reader);
  cuCtxSynchronize();
}
