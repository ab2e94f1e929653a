// Allocation and free captured into a graph; a branch still uses the block at the free in `racy`.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t fork = MakeEvent(), join = MakeEvent();
  float *out = Device(), *scratch;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(reinterpret_cast<void**>(&scratch), kBytes, s));
  Fill<<<64, 256, 0, s>>>(scratch, 1, kCount);
  OK(cudaEventRecord(fork, s));
  OK(cudaStreamWaitEvent(t, fork));
  Copy<<<64, 256, 0, t>>>(out, scratch, kCount);
  OK(cudaEventRecord(join, t));
  if (!racy) OK(cudaStreamWaitEvent(s, join));
  OK(cudaFreeAsync(scratch, s));
  if (racy) OK(cudaStreamWaitEvent(s, join));
  cudaError_t ended = cudaStreamEndCapture(s, &graph);
  if (ended == cudaSuccess) ended = cudaGraphInstantiate(&exec, graph, 0);
  if (ended != cudaSuccess) {
    std::printf("refused: %s\n", cudaGetErrorString(ended));
    return 4;
  }
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s));
  std::puts("ok");
}
