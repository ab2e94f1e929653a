// Graphs, values in memory and what the driver refuses, as programs of the driver's interface on
// the virtual GPU: graphs_e2e CASE racy|fixed|lookalike. Prints `result good` or `result bad`.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "streamsan/annotate.h"
#include "vgpu/kernel.h"

VGPU_KERNEL(fill, (uint32_t * to, uint32_t value, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = value;
}
VGPU_KERNEL(move, (uint32_t * to, const uint32_t* from, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = from[i];
}

namespace {

constexpr uint32_t kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(uint32_t);

void Check(CUresult result, const char* what, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, name ? name : "unknown error");
  std::exit(2);
}
#define CU(call) Check((call), #call, __LINE__)

enum class Way { kRacy, kFixed, kLookalike };

struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction fill = nullptr, move = nullptr;

  Gpu() {
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuModuleLoadData(&module, vgpu::Image()));
    CU(cuModuleGetFunction(&fill, module, "fill"));
    CU(cuModuleGetFunction(&move, module, "move"));
    streamsan_kernel_access(fill, 0, STREAMSAN_WRITE);
    streamsan_kernel_access(move, 0, STREAMSAN_WRITE);
    streamsan_kernel_access(move, 8, STREAMSAN_READ);
  }

  CUstream Stream(const char* name, unsigned flags = CU_STREAM_NON_BLOCKING) const {
    CUstream stream;
    CU(cuStreamCreate(&stream, flags));
    streamsan_stream_name(stream, name);
    return stream;
  }
  CUevent Event() const {
    CUevent event;
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
  }
  CUdeviceptr Buffer(const char* name) const {
    CUdeviceptr at;
    CU(cuMemAlloc(&at, kBytes));
    streamsan_buffer(reinterpret_cast<void*>(at), kBytes, name);
    CU(cuMemsetD32(at, 0, kCount));
    CU(cuCtxSynchronize());
    return at;
  }
  void Fill(CUstream stream, CUdeviceptr to, uint32_t value) const {
    uint32_t n = kCount;
    void* arguments[] = {&to, &value, &n};
    CU(cuLaunchKernel(fill, 8, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  }
  void Move(CUstream stream, CUdeviceptr to, CUdeviceptr from) const {
    uint32_t n = kCount;
    void* arguments[] = {&to, &from, &n};
    CU(cuLaunchKernel(move, 8, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  }
  void WaitStream(CUstream consumer, CUstream producer) const {
    CUevent event = Event();
    CU(cuEventRecord(event, producer));
    CU(cuStreamWaitEvent(consumer, event, 0));
    CU(cuEventDestroy(event));
  }
  CUgraphExec Instantiate(CUgraph graph) const {
    CUgraphExec exec;
    CU(cuGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  bool Holds(CUdeviceptr buffer, uint32_t value) const {
    CU(cuCtxSynchronize());
    std::vector<uint32_t> host(kCount);
    CU(cuMemcpyDtoH(host.data(), buffer, kBytes));
    for (uint32_t word : host) {
      if (word != value) return false;
    }
    return true;
  }
};

struct KernelNode {
  CUDA_KERNEL_NODE_PARAMS params{};
  CUdeviceptr to, from;
  uint32_t value, n = kCount;
  void* arguments[3];

  KernelNode(CUfunction function, CUdeviceptr target, CUdeviceptr source, uint32_t number)
      : to(target), from(source), value(number) {
    arguments[0] = &to;
    arguments[1] = source ? static_cast<void*>(&from) : static_cast<void*>(&value);
    arguments[2] = &n;
    params.func = function;
    params.gridDimX = 8;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 32;
    params.kernelParams = arguments;
  }
};

CUDA_MEMCPY3D Linear(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

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

// Two streams ordered by a value in memory. Lookalike: the wait is queued before the write.
bool Values(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("writer"), t = gpu.Stream("waiter");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), flag = gpu.Buffer("flag");
  CUstreamBatchMemOpParams wait{};
  wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  wait.waitValue.address = flag;
  wait.waitValue.value = 1;
  wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  if (way == Way::kLookalike) {
    CU(cuStreamBatchMemOp(t, 1, &wait, 0));
    gpu.Move(t, b, a);
  }
  if (way == Way::kRacy) CU(cuStreamWriteValue32(s, flag, 1, 0));
  gpu.Fill(s, a, 8);
  if (way != Way::kRacy) CU(cuStreamWriteValue32(s, flag, 1, 0));
  if (way != Way::kLookalike) {
    CU(cuStreamBatchMemOp(t, 1, &wait, 0));
    gpu.Move(t, b, a);
  }
  return gpu.Holds(b, 8);
}

// Memory that is mapped into a reserved range, piece by piece. Lookalike: unmapped and mapped
// again, with other memory behind the same addresses.
bool Mapped(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("writer"), t = gpu.Stream("reader");
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t piece = 0;
  CU(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr base;
  CU(cuMemAddressReserve(&base, 4 * piece, 0, 0, 0));
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  auto map = [&](size_t at) {
    CUmemGenericAllocationHandle handle;
    CU(cuMemCreate(&handle, piece, &prop, 0));
    CU(cuMemMap(base + at * piece, piece, 0, handle, 0));
    CU(cuMemSetAccess(base + at * piece, piece, &access, 1));
    CU(cuMemRelease(handle));
  };
  map(0);
  map(1);
  const CUdeviceptr a = base, b = base + piece;
  gpu.Fill(s, a, 2);
  if (way == Way::kLookalike) {
    CU(cuStreamSynchronize(s));
    CU(cuMemUnmap(base, piece));
    map(0);
    gpu.Fill(t, a, 2);
  }
  if (way == Way::kFixed) gpu.WaitStream(t, s);
  gpu.Move(t, b, a);
  const bool good = gpu.Holds(b, 2);
  CU(cuMemUnmap(base, 2 * piece));
  CU(cuMemAddressFree(base, 4 * piece));
  return good;
}

// An event that fires when a kernel's blocks start orders what came before the kernel, not the
// kernel. Lookalike: what the waiting stream reads was written before.
bool Started(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("writer"), t = gpu.Stream("reader");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), c = gpu.Buffer("c");
  CUevent started = gpu.Event();
  gpu.Fill(s, c, 7);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attribute.value.launchCompletionEvent.event = started;
  CUlaunchConfig config{};
  config.gridDimX = 8;
  config.blockDimX = 32;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = s;
  config.attrs = &attribute;
  config.numAttrs = 1;
  KernelNode filler(gpu.fill, a, 0, 7);
  CU(cuLaunchKernelEx(&config, gpu.fill, filler.arguments, nullptr));
  CU(cuStreamWaitEvent(t, started, 0));
  if (way == Way::kFixed) gpu.WaitStream(t, s);
  gpu.Move(t, b, way == Way::kLookalike ? c : a);
  return gpu.Holds(b, 7);
}

// A batch of copies, one of which reads what another stream writes. Lookalike: the same source
// twice.
bool Batched(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("writer"), t = gpu.Stream("copier");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), c = gpu.Buffer("c"), d = gpu.Buffer("d");
  gpu.Fill(s, a, 5);
  if (way == Way::kFixed) gpu.WaitStream(t, s);
  CUdeviceptr to[] = {c, d}, from[] = {b, way == Way::kLookalike ? b : a};
  size_t bytes[] = {kBytes, kBytes}, index = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CU(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, &index, 1, t));
  return gpu.Holds(d, way == Way::kLookalike ? 0 : 5);
}

// Managed memory, prefetched on the way, which orders nothing. Lookalike: both only read.
bool Managed(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("writer"), t = gpu.Stream("reader");
  CUdeviceptr a, b = gpu.Buffer("b"), c = gpu.Buffer("c");
  CU(cuMemAllocManaged(&a, kBytes, CU_MEM_ATTACH_GLOBAL));
  CU(cuMemsetD32(a, 3, kCount));
  CU(cuStreamAttachMemAsync(s, a, 0, CU_MEM_ATTACH_GLOBAL));
  CU(cuMemPrefetchAsync(a, kBytes, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, s));
  if (way == Way::kLookalike) {
    gpu.Move(s, c, a);
  } else {
    gpu.Fill(s, a, 4);
  }
  if (way == Way::kFixed) gpu.WaitStream(t, s);
  gpu.Move(t, b, a);
  return gpu.Holds(b, way == Way::kLookalike ? 3 : 4);
}

// What the driver refuses: every line has the answer that the real one gives.
bool Refused(const Gpu& gpu, Way) {
  bool good = true;
  auto expect = [&](CUresult result, CUresult wanted, const char* what) {
    if (result == wanted) return;
    std::fprintf(stderr, "%s: %d, expected %d\n", what, result, wanted);
    good = false;
  };
#define EXPECT(wanted, call) expect((call), wanted, #call)
  CUstream s = gpu.Stream("s"), t = gpu.Stream("t"), u = gpu.Stream("u", CU_STREAM_DEFAULT);
  CUdeviceptr a = gpu.Buffer("a");
  CUevent inside = gpu.Event(), outside = gpu.Event();
  CUgraph graph;
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
         cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &graph));
  CU(cuEventRecord(outside, t));
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, outside, 0));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr other;
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&other, kBytes));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT(CUDA_SUCCESS, cuMemAlloc(&other, kBytes));
  gpu.Fill(s, a, 1);
  CU(cuEventRecord(inside, s));
  EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(inside));
  CU(cuStreamWaitEvent(t, inside, 0));
  gpu.Fill(t, other, 1);
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(t, &graph));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &graph));
  CU(cuStreamBeginCapture(u, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(a, 0, kCount, CU_STREAM_LEGACY));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(u, &graph));
  CU(cuGraphCreate(&graph, 0));
  CUgraphNode one, two;
  CU(cuGraphAddEmptyNode(&one, graph, nullptr, 0));
  CU(cuGraphAddEmptyNode(&two, graph, &one, 1));
  CU(cuGraphAddDependencies(graph, &two, &one, nullptr, 1));
  CUgraphExec exec;
  EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 0));
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<bool(const Gpu&, Way)>> cases = {
      {"branch", Branch},   {"replay", Replay},   {"explicit", Explicit}, {"change", NodeChange},
      {"update", Update},   {"child", Child},     {"external", External}, {"memory", Memory},
      {"values", Values},   {"mapped", Mapped},   {"started", Started},   {"batched", Batched},
      {"managed", Managed}, {"refused", Refused},
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
