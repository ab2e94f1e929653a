// A driver-API program that hangs in a host function and is killed there, on purpose. Its first
// stream has done one operation by then and has two behind the one that hangs; the second and the
// third, which launches a graph, have done all.
#include <cuda.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<bool> started{false};

void Check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "stuck: %d\n", result);
  std::exit(9);
}

void Hang(void*) {
  started = true;
  for (;;) pause();
}

void LaunchGraph(CUstream stream, CUdeviceptr at) {
  CUgraph graph;
  CUgraphExec exec;
  Check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  Check(cuMemsetD8Async(at, 4, 64, stream));
  Check(cuMemsetD8Async(at, 5, 64, stream));
  Check(cuStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  Check(cuGraphGetNodes(graph, nullptr, &nodes));
  std::printf("%zu nodes\n", nodes);
  std::fflush(stdout);
  Check(cuGraphInstantiate(&exec, graph, 0));
  Check(cuGraphLaunch(exec, stream));
  Check(cuStreamSynchronize(stream));
}

}  // namespace

int main() {
  CUcontext context;
  CUstream one, two, three;
  CUdeviceptr block;
  Check(cuInit(0));
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  for (CUstream* stream : {&one, &two, &three})
    Check(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
  Check(cuMemAlloc(&block, 4096));
  LaunchGraph(three, block);
  Check(cuMemsetD8Async(block + 1024, 1, 64, two));
  Check(cuMemcpyDtoDAsync(block + 2048, block + 1024, 64, two));
  Check(cuStreamSynchronize(two));
  Check(cuMemsetD8Async(block, 1, 64, one));
  Check(cuLaunchHostFunc(one, Hang, nullptr));
  Check(cuMemsetD8Async(block, 2, 64, one));
  Check(cuMemsetD8Async(block, 3, 64, one));
  while (!started) usleep(1000);
  raise(SIGKILL);
}
