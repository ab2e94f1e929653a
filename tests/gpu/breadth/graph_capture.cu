// A graph by capture: a side branch that reads what the main branch overwrites; joined in `fixed`.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t fork = MakeEvent(), join = MakeEvent();
  float *a = Device(), *b = Device();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  Fill<<<64, 256, 0, s>>>(a, 1, kCount);
  OK(cudaEventRecord(fork, s));
  OK(cudaStreamWaitEvent(t, fork));
  Copy<<<64, 256, 0, t>>>(b, a, kCount);
  OK(cudaEventRecord(join, t));
  if (!racy) OK(cudaStreamWaitEvent(s, join));
  Fill<<<64, 256, 0, s>>>(a, 2, kCount);
  if (racy) OK(cudaStreamWaitEvent(s, join));
  OK(cudaStreamEndCapture(s, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  std::puts("ok");
}
