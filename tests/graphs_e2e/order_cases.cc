// Order by other means than graphs, and what the driver refuses.
#include "gpu.h"

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

// Two streams share two frames, each the rows' halves that are its own. Then one copies a half on
// that reaches into the other's; as lookalike its own.
bool Columns(const Gpu& gpu, Way way) {
  constexpr size_t kPitch = 64, kHalf = kPitch / 2, kRows = kBytes / kPitch;
  CUstream s = gpu.Stream("left"), t = gpu.Stream("right");
  CUdeviceptr frame = gpu.Buffer("frame"), out = gpu.Buffer("out");
  CU(cuMemsetD2D32Async(frame, kPitch, 8, kHalf / 4, kRows, s));
  CU(cuMemsetD2D32Async(frame + kHalf, kPitch, 8, kHalf / 4, kRows, t));
  CU(cuMemsetD2D32Async(out + kHalf, kPitch, 8, kHalf / 4, kRows, s));
  if (way == Way::kFixed) gpu.WaitStream(t, s);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = frame;
  copy.srcXInBytes = way == Way::kLookalike ? kHalf : kHalf / 2;
  copy.dstDevice = out;
  copy.srcPitch = copy.dstPitch = kPitch;
  copy.WidthInBytes = kHalf;
  copy.Height = kRows;
  CU(cuMemcpy2DAsync(&copy, t));
  return gpu.Holds(out, 8);
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

// Batches of copies: of how many with which attributes, and where.
template <typename Expect>
void RefusedBatches(const Gpu& gpu, CUstream stream, CUdeviceptr from, Expect expect) {
  CUdeviceptr to[] = {gpu.Buffer("to"), gpu.Buffer("other")}, sources[] = {from, from};
  auto batch = [&](CUstream where, size_t bytes, size_t count, std::vector<size_t> first) {
    size_t sizes[] = {bytes, bytes};
    CUmemcpyAttributes attributes[3] = {};
    for (CUmemcpyAttributes& one : attributes) {
      one.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    }
    return cuMemcpyBatchAsync(to, sources, sizes, count, attributes, first.data(), first.size(),
                              where);
  };
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  expect(batch(stream, 64, 2, {0, 1}), CUDA_SUCCESS, "two copies with attributes of their own");
  expect(batch(CU_STREAM_PER_THREAD, 64, 1, {0}), CUDA_SUCCESS, "the per-thread stream");
  expect(batch(nullptr, 64, 1, {0}), kInvalid, "the default stream");
  expect(batch(CU_STREAM_LEGACY, 64, 1, {0}), kInvalid, "the legacy stream");
  expect(batch(stream, 64, 2, {0, 0}), kInvalid, "two attributes for one copy");
  expect(batch(stream, 64, 2, {0, 2}), kInvalid, "attributes behind the last copy");
  expect(batch(stream, 64, 1, {0, 1}), kInvalid, "more attributes than copies");
  expect(batch(stream, 64, 2, {1}), kInvalid, "a copy without attributes");
  expect(batch(stream, 64, 0, {0}), kInvalid, "no copy");
  expect(batch(stream, 0, 1, {0}), kInvalid, "a copy of no bytes");
  CUgraph graph;
  CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  expect(batch(stream, 64, 1, {0}), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while capturing");
  expect(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, "the capture goes on");
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
  RefusedBatches(gpu, s, a, expect);
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
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &graph));
  CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU(cuEventRecord(inside, s));
  CU(cuStreamWaitEvent(t, inside, 0));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(t, &graph));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
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
