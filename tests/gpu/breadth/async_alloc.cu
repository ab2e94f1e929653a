// Stream-ordered allocation: the block is freed on its stream while another one still reads it in
// `racy`.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t filled = MakeEvent(), read = MakeEvent();
  float* out = Device();
  for (int i = 0; i < 3; ++i) {
    float* scratch;
    OK(cudaMallocAsync(reinterpret_cast<void**>(&scratch), kBytes, s));
    Fill<<<64, 256, 0, s>>>(scratch, 1, kCount);
    OK(cudaEventRecord(filled, s));
    OK(cudaStreamWaitEvent(t, filled));
    Copy<<<64, 256, 0, t>>>(out, scratch, kCount);
    OK(cudaEventRecord(read, t));
    if (!racy) OK(cudaStreamWaitEvent(s, read));
    OK(cudaFreeAsync(scratch, s));
  }
  OK(cudaDeviceSynchronize());
  std::puts("ok");
}
