// A graph's input is overwritten on another stream while a replay may read it; `fixed` waits.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t done = MakeEvent(), ready = MakeEvent();
  float *in = Device(), *out = Device(), *host;
  OK(cudaMallocHost(&host, kBytes));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  Axpy<<<64, 256, 0, s>>>(out, in, 2, kCount);
  OK(cudaStreamEndCapture(s, &graph));
  OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cudaGraphUpload(exec, s));
  for (int i = 0; i < 3; ++i) {
    if (!racy && i) OK(cudaStreamWaitEvent(t, done));
    OK(cudaMemcpyAsync(in, host, kBytes, cudaMemcpyHostToDevice, t));
    OK(cudaEventRecord(ready, t));
    OK(cudaStreamWaitEvent(s, ready));
    OK(cudaGraphLaunch(exec, s));
    OK(cudaEventRecord(done, s));
  }
  OK(cudaDeviceSynchronize());
  std::puts("ok");
}
