// Graphs that are changed, captures whose end is refused, memory that another graph frees.
#include <thread>

#include "gpu.h"

// A node is switched off, which another stream then need not wait for. Lookalike: it stays so when
// the executable graph is updated as a whole.
bool Switched(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream"), t = gpu.Stream("reader");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUgraph graph;
  CUgraphNode node;
  CU(cuGraphCreate(&graph, 0));
  KernelNode filler(gpu.fill, a, 0, 2);
  CU(cuGraphAddKernelNode(&node, graph, nullptr, 0, &filler.params));
  CUgraphExec exec = gpu.Instantiate(graph);
  if (way != Way::kRacy) CU(cuGraphNodeSetEnabled(exec, node, 0));
  CUgraphExecUpdateResultInfo info;
  if (way == Way::kLookalike) CU(cuGraphExecUpdate(exec, graph, &info));
  CU(cuGraphLaunch(exec, s));
  gpu.Move(t, b, a);
  return gpu.Holds(b, 0);
}

// Another thread ends a capture, which fails and is the capture's end all the same: what comes next
// runs at once. Lookalike: it comes before, and never runs.
bool Ended(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("captured"), t = gpu.Stream("joined"), u = gpu.Stream("reader");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUgraph graph;
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  gpu.WaitStream(t, s);
  if (way == Way::kLookalike) gpu.Fill(t, a, 1);
  bool refused = false;
  std::thread other([&] {
    CU(cuCtxSetCurrent(gpu.context));
    refused = cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  });
  other.join();
  if (way != Way::kLookalike) gpu.Fill(t, a, 1);
  if (way == Way::kFixed) gpu.WaitStream(u, t);
  gpu.Move(u, b, a);
  return gpu.Holds(b, way == Way::kLookalike ? 0 : 1) && refused;
}

// One graph allocates, another one frees what a stream still reads. Lookalike: the stream reads
// through a third graph, launched behind the first on its stream.
bool Freed(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream"), t = gpu.Stream("reader");
  CUdeviceptr b = gpu.Buffer("b");
  CUDA_MEM_ALLOC_NODE_PARAMS memory{};
  memory.bytesize = kBytes;
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUgraph graphs[3];
  for (CUgraph& graph : graphs) CU(cuGraphCreate(&graph, 0));
  CUgraphNode alloc, fill, free, move;
  CU(cuGraphAddMemAllocNode(&alloc, graphs[0], nullptr, 0, &memory));
  KernelNode filler(gpu.fill, memory.dptr, 0, 6), mover(gpu.move, b, memory.dptr, 0);
  CU(cuGraphAddKernelNode(&fill, graphs[0], &alloc, 1, &filler.params));
  CUgraphExec first = gpu.Instantiate(graphs[0]);
  CU(cuGraphLaunch(first, s));
  CU(cuGraphAddMemFreeNode(&free, graphs[1], nullptr, 0, memory.dptr));
  CU(cuGraphAddKernelNode(&move, graphs[2], nullptr, 0, &mover.params));
  if (way == Way::kLookalike) {
    CU(cuGraphLaunch(gpu.Instantiate(graphs[2]), s));
  } else {
    gpu.WaitStream(t, s);
    gpu.Move(t, b, memory.dptr);
    if (way == Way::kFixed) gpu.WaitStream(s, t);
  }
  CU(cuGraphLaunch(gpu.Instantiate(graphs[1]), s));
  return gpu.Holds(b, 6);
}
