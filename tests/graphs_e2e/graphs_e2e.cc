// Graphs, values in memory, events over contexts and what the driver refuses, as programs of the
// driver's interface on the virtual GPU: graphs_e2e CASE racy|fixed|lookalike. Prints `result good`
// or `result bad`.
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "gpu.h"

VGPU_KERNEL(fill, (uint32_t * to, uint32_t value, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = value;
}
VGPU_KERNEL(move, (uint32_t * to, const uint32_t* from, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = from[i];
}

const void* Image() { return vgpu::Image(); }

namespace {

// A side branch reads what the main branch overwrites. Lookalike: it overwrites something else.
bool Branch(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("main_branch"), t = gpu.Stream("side_branch");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), c = gpu.Buffer("c");
  CUgraph graph;
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  gpu.Fill(s, a, 1);
  gpu.WaitStream(t, s);
  gpu.Move(t, b, a);
  if (way == Way::kFixed) gpu.WaitStream(s, t);
  gpu.Fill(s, way == Way::kLookalike ? c : a, 2);
  gpu.WaitStream(s, t);
  CU(cuStreamEndCapture(s, &graph));
  CUgraphExec exec = gpu.Instantiate(graph);
  CU(cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) CU(cuGraphLaunch(exec, s));
  const bool good = gpu.Holds(b, 1);
  CU(cuGraphExecDestroy(exec));
  return good;
}

// The input of a replay is overwritten. Lookalike: replays on two streams are in order by
// themselves.
bool Replay(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("replays"), t = gpu.Stream("loader");
  CUdeviceptr in = gpu.Buffer("in"), out = gpu.Buffer("out");
  CUgraph graph;
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  gpu.Move(s, out, in);
  CU(cuStreamEndCapture(s, &graph));
  CUgraphExec exec = gpu.Instantiate(graph);
  gpu.Fill(t, in, 1);
  gpu.WaitStream(s, t);
  CU(cuGraphLaunch(exec, s));
  if (way == Way::kLookalike) {
    CU(cuGraphLaunch(exec, t));
  } else {
    if (way == Way::kFixed) gpu.WaitStream(t, s);
    gpu.Fill(t, in, 2);
  }
  return gpu.Holds(out, 1);
}

// By hand: memset, kernel, copy, the kernel's edge to the copy left out. Lookalike: through an
// empty node.
bool Explicit(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUgraph graph;
  CU(cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS zero{a, 0, 7, 4, kCount, 1};
  CUgraphNode memset_node, kernel_node, copy_node, empty_node;
  CU(cuGraphAddMemsetNode(&memset_node, graph, nullptr, 0, &zero, gpu.context));
  KernelNode kernel(gpu.fill, a, 0, 9);
  CU(cuGraphAddKernelNode(&kernel_node, graph, &memset_node, 1, &kernel.params));
  CU(cuGraphAddEmptyNode(&empty_node, graph, &kernel_node, 1));
  CUDA_MEMCPY3D copy = Linear(b, a);
  CU(cuGraphAddMemcpyNode(&copy_node, graph, &memset_node, 1, &copy, gpu.context));
  if (way == Way::kFixed) CU(cuGraphAddDependencies(graph, &kernel_node, &copy_node, nullptr, 1));
  if (way == Way::kLookalike)
    CU(cuGraphAddDependencies(graph, &empty_node, &copy_node, nullptr, 1));
  CU(cuGraphLaunch(gpu.Instantiate(graph), s));
  return gpu.Holds(b, 9);
}

// A node of the executable graph is given another buffer, which another stream writes. Lookalike:
// the node of the graph is changed, which the executable one does not see.
bool NodeChange(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream"), t = gpu.Stream("other");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), out = gpu.Buffer("out");
  CUgraph graph;
  CUgraphNode node;
  CU(cuGraphCreate(&graph, 0));
  KernelNode from_a(gpu.move, out, a, 0), from_b(gpu.move, out, b, 0);
  CU(cuGraphAddKernelNode(&node, graph, nullptr, 0, &from_a.params));
  CUgraphExec exec = gpu.Instantiate(graph);
  CU(cuGraphLaunch(exec, s));
  if (way == Way::kLookalike) {
    CU(cuGraphKernelNodeSetParams(node, &from_b.params));
  } else {
    CU(cuGraphExecKernelNodeSetParams(exec, node, &from_b.params));
  }
  gpu.Fill(t, b, 5);
  if (way == Way::kFixed) gpu.WaitStream(s, t);
  CU(cuGraphLaunch(exec, s));
  return gpu.Holds(out, way == Way::kLookalike ? 0 : 5);
}

// The graph is captured anew and updated as a whole; another stream reads its output.
bool Update(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream"), t = gpu.Stream("reader");
  CUdeviceptr out[2] = {gpu.Buffer("out0"), gpu.Buffer("out1")}, kept = gpu.Buffer("kept");
  CUgraphExec exec = nullptr;
  for (uint32_t i = 0; i < 2; ++i) {
    CUgraph graph;
    CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    gpu.Fill(s, out[i], i + 1);
    CU(cuStreamEndCapture(s, &graph));
    CUgraphExecUpdateResultInfo info;
    if (exec) {
      CU(cuGraphExecUpdate(exec, graph, &info));
    } else {
      exec = gpu.Instantiate(graph);
    }
    CU(cuGraphDestroy(graph));
    CU(cuGraphLaunch(exec, s));
    if (i == 0) CU(cuStreamSynchronize(s));
  }
  if (way == Way::kFixed) gpu.WaitStream(t, s);
  gpu.Move(t, kept, out[way == Way::kLookalike ? 0 : 1]);
  return gpu.Holds(kept, way == Way::kLookalike ? 1 : 2);
}

// A child graph whose last node the parent's next one does not wait for. Lookalike: two children
// one behind the other.
bool Child(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUgraph child, parent;
  CUgraphNode fill, move, first, second;
  CU(cuGraphCreate(&child, 0));
  CU(cuGraphCreate(&parent, 0));
  KernelNode filler(gpu.fill, a, 0, 3), mover(gpu.move, b, a, 0);
  CU(cuGraphAddKernelNode(&fill, child, nullptr, 0, &filler.params));
  CU(cuGraphAddChildGraphNode(&first, parent, nullptr, 0, child));
  if (way == Way::kLookalike) {
    CU(cuGraphAddChildGraphNode(&second, parent, &first, 1, child));
    CU(cuGraphAddKernelNode(&move, parent, &second, 1, &mover.params));
  } else {
    CU(cuGraphAddKernelNode(&move, parent, &first, way == Way::kFixed ? 1 : 0, &mover.params));
  }
  CU(cuGraphLaunch(gpu.Instantiate(parent), s));
  return gpu.Holds(b, 3);
}

// An external record in a graph is a real one at every launch. Lookalike: a wait node.
bool External(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream"), t = gpu.Stream("reader");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUevent filled = gpu.Event(), started = gpu.Event();
  CUgraph graph;
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (way == Way::kLookalike) CU(cuStreamWaitEvent(s, started, CU_EVENT_WAIT_EXTERNAL));
  if (way == Way::kRacy) CU(cuEventRecordWithFlags(filled, s, CU_EVENT_RECORD_EXTERNAL));
  gpu.Fill(s, a, 4);
  if (way != Way::kRacy) CU(cuEventRecordWithFlags(filled, s, CU_EVENT_RECORD_EXTERNAL));
  CU(cuStreamEndCapture(s, &graph));
  if (way == Way::kLookalike) {
    gpu.Fill(t, a, 1);
    CU(cuEventRecord(started, t));
  }
  CU(cuGraphLaunch(gpu.Instantiate(graph), s));
  CU(cuStreamWaitEvent(t, filled, 0));
  gpu.Move(t, b, a);
  return gpu.Holds(b, 4);
}

// Memory that a graph allocates: freed while a branch reads it. Lookalike: freed by the program,
// once a launch.
bool Memory(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("stream"), t = gpu.Stream("branch");
  CUdeviceptr b = gpu.Buffer("b"), scratch;
  CUgraph graph;
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU(cuMemAllocAsync(&scratch, kBytes, s));
  gpu.Fill(s, scratch, 6);
  gpu.WaitStream(t, s);
  gpu.Move(t, b, scratch);
  if (way != Way::kRacy) gpu.WaitStream(s, t);
  if (way != Way::kLookalike) CU(cuMemFreeAsync(scratch, s));
  gpu.WaitStream(s, t);
  CU(cuStreamEndCapture(s, &graph));
  CUgraphExec exec = gpu.Instantiate(graph);
  for (int i = 0; i < 2; ++i) {
    CU(cuGraphLaunch(exec, s));
    if (way == Way::kLookalike) CU(cuMemFreeAsync(scratch, s));
  }
  return gpu.Holds(b, 6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<bool(const Gpu&, Way)>> cases = {
      {"branch", Branch},     {"replay", Replay},   {"explicit", Explicit},
      {"change", NodeChange}, {"update", Update},   {"child", Child},
      {"external", External}, {"memory", Memory},   {"values", Values},
      {"mapped", Mapped},     {"started", Started}, {"batched", Batched},
      {"anytime", AnyTime},   {"chained", Chained}, {"boxes", Boxes},
      {"managed", Managed},   {"refused", Refused}, {"switched", Switched},
      {"ended", Ended},       {"freed", Freed},     {"over", RecordedOver},
      {"columns", Columns},   {"heldup", HeldUp},   {"synced", Synchronised},
  };
  const std::map<std::string, Way> ways = {
      {"racy", Way::kRacy}, {"fixed", Way::kFixed}, {"lookalike", Way::kLookalike}};
  if (argc != 3 || !cases.contains(argv[1]) || !ways.contains(argv[2])) {
    std::fprintf(stderr, "usage: graphs_e2e CASE racy|fixed|lookalike\n");
    return 2;
  }
  const Gpu gpu;
  const bool good = cases.at(argv[1])(gpu, ways.at(argv[2]));
  CU(cuCtxSynchronize());
  std::printf("result %s\n", good ? "good" : "bad");
  return 0;
}
