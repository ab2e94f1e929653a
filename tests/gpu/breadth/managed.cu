// Managed memory: the CPU writes while a kernel may still read; prefetched and advised on the way.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t done = MakeEvent();
  float *a, *b;
  OK(cudaMallocManaged(&a, kBytes));
  OK(cudaMallocManaged(&b, kBytes));
  cudaMemLocation where = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemAdvise(a, kBytes, cudaMemAdviseSetPreferredLocation, where));
  OK(cudaMemPrefetchAsync(a, kBytes, where, 0, s));
  Fill<<<64, 256, 0, s>>>(a, 1, kCount);
  OK(cudaEventRecord(done, s));
  if (!racy) OK(cudaStreamWaitEvent(t, done));
  Copy<<<64, 256, 0, t>>>(b, a, kCount);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(a));
  OK(cudaFree(b));
  std::puts("ok");
}
