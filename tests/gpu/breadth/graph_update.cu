// A graph is captured anew every step and the executable one updated; the other stream reads its
// output without waiting in `racy`. Host nodes, child graphs, external events on the way.
#include "breadth.h"
static void CUDART_CB Count(void* counter) { ++*static_cast<int*>(counter); }
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t done = MakeEvent(), used = MakeEvent();
  float *in[2] = {Device(), Device()}, *out = Device(), *kept = Device();
  cudaGraphExec_t exec = nullptr;
  int counter = 0;
  for (int i = 0; i < 4; ++i) {
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    if (i) OK(cudaEventRecordWithFlags(used, s, cudaEventRecordDefault));
    Copy<<<64, 256, 0, s>>>(out, in[i % 2], kCount);
    OK(cudaLaunchHostFunc(s, Count, &counter));
    OK(cudaEventRecordWithFlags(done, s, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(s, &graph));
    if (!exec) {
      OK(cudaGraphInstantiate(&exec, graph, 0));
    } else {
      cudaGraphExecUpdateResultInfo info;
      OK(cudaGraphExecUpdate(exec, graph, &info));
    }
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, s));
    if (!racy) OK(cudaStreamWaitEvent(t, done));
    Copy<<<64, 256, 0, t>>>(kept, out, kCount);
    cudaEvent_t read = MakeEvent();
    OK(cudaEventRecord(read, t));
    OK(cudaStreamWaitEvent(s, read));
  }
  OK(cudaDeviceSynchronize());
  std::printf("ok %d\n", counter);
}
