// Programmatic dependent launch: the secondary reads what its primary writes, with the
// grid-dependency wait left out in `racy`.
#include "breadth.h"
__global__ void Primary(float* x, float value, int n) {
  asm volatile("griddepcontrol.launch_dependents;");
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = value;
}
__global__ void Waits(float* y, const float* x, int n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i];
}
__global__ void Rushes(float* y, const float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i];
}
static void Launch(void (*kernel)(float*, const float*, int), cudaStream_t s, float* y,
                   const float* x) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = s;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cudaLaunchKernelEx(&config, kernel, y, x, kCount));
}
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  bool graph = argc > 2;
  cudaStream_t s = MakeStream();
  float *a = Device(), *b = Device();
  cudaGraph_t made;
  cudaGraphExec_t exec;
  if (graph) OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 2; ++i) {
    Primary<<<64, 256, 0, s>>>(a, static_cast<float>(i), kCount);
    Launch(racy ? Rushes : Waits, s, b, a);
  }
  if (graph) {
    OK(cudaStreamEndCapture(s, &made));
    OK(cudaGraphInstantiate(&exec, made, 0));
    OK(cudaGraphLaunch(exec, s));
  }
  OK(cudaStreamSynchronize(s));
  std::puts("ok");
}
