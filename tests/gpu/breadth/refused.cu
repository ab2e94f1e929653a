// What the driver answers to calls that a capture forbids: the list that the virtual GPU keeps to
// (tests/graphs_e2e, case `refused`). Exit code 1 where this driver answers otherwise.
#include <thread>

#include "breadth.h"

static bool good = true;
template <typename T, typename U>
static void Expect(T wanted, U got, const char* what) {
  if (got == wanted) return;
  std::printf("%s: %d, expected %d\n", what, got, wanted);
  good = false;
}
#define EXPECT(wanted, call) Expect((wanted), (call), #call)

int main() {
  OK(cudaFree(nullptr));
  CUstream s, t, u;
  DRV(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  DRV(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
  DRV(cuStreamCreate(&u, CU_STREAM_DEFAULT));
  auto a = reinterpret_cast<CUdeviceptr>(Device());
  CUevent inside, outside;
  DRV(cuEventCreate(&inside, CU_EVENT_DISABLE_TIMING));
  DRV(cuEventCreate(&outside, CU_EVENT_DISABLE_TIMING));
  CUgraph graph;
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
         cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &graph));
  DRV(cuEventRecord(outside, t));
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, outside, 0));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr other;
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&other, kBytes));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuEventQuery(outside));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT(CUDA_SUCCESS, cuMemAlloc(&other, kBytes));
  DRV(cuMemsetD32Async(a, 1, kCount, s));
  DRV(cuEventRecord(inside, s));
  EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(inside));
  cuStreamEndCapture(s, &graph);  // good or invalidated
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  DRV(cuMemsetD32Async(a, 1, kCount, s));
  DRV(cuEventRecord(inside, s));
  DRV(cuStreamWaitEvent(t, inside, 0));
  DRV(cuMemsetD32Async(other, 1, kCount, t));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &graph));
  // To end it on a stream that only joined spoils it; from another thread, it is its end.
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  DRV(cuEventRecord(inside, s));
  DRV(cuStreamWaitEvent(t, inside, 0));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(t, &graph));
  CUstreamCaptureStatus left;
  EXPECT(CUDA_SUCCESS, cuStreamIsCapturing(s, &left));
  EXPECT(CU_STREAM_CAPTURE_STATUS_INVALIDATED, left);
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUcontext context;
  DRV(cuCtxGetCurrent(&context));
  std::thread other_thread([&] {
    DRV(cuCtxSetCurrent(context));
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(s, &graph));
  });
  other_thread.join();
  EXPECT(CUDA_SUCCESS, cuStreamIsCapturing(s, &left));
  EXPECT(CU_STREAM_CAPTURE_STATUS_NONE, left);
  DRV(cuStreamBeginCapture(u, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(a, 0, kCount, CU_STREAM_LEGACY));
  EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(u, &graph));
  DRV(cuGraphCreate(&graph, 0));
  CUgraphNode one, two;
  DRV(cuGraphAddEmptyNode(&one, graph, nullptr, 0));
  DRV(cuGraphAddEmptyNode(&two, graph, &one, 1));
  EXPECT(CUDA_SUCCESS, cuGraphAddDependencies(graph, &two, &one, nullptr, 1));
  CUgraphExec exec;
  EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 0));
  // A call on a capturing stream makes one node, which is all that the stream's next one depends
  // on.
  DRV(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr block;
  CUstreamBatchMemOpParams write = {};
  write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = a;
  auto one_node = [&](const char* what) {
    CUstreamCaptureStatus status;
    const CUgraphNode* nodes;
    const CUgraphEdgeData* edges;
    size_t count = 0;
    DRV(cuStreamGetCaptureInfo(s, &status, nullptr, nullptr, &nodes, &edges, &count));
    if (count == 1) return;
    std::printf("%s: %zu nodes\n", what, count);
    good = false;
  };
  DRV(cuMemsetD32Async(a, 1, kCount, s));
  one_node("memset");
  DRV(cuMemcpyDtoDAsync(other, a, kBytes, s));
  one_node("copy");
  DRV(cuMemAllocAsync(&block, kBytes, s));
  one_node("alloc");
  DRV(cuMemFreeAsync(block, s));
  one_node("free");
  DRV(cuStreamBatchMemOp(s, 1, &write, 0));
  one_node("memory operation");
  DRV(cuEventRecordWithFlags(outside, s, CU_EVENT_RECORD_EXTERNAL));
  one_node("external record");
  Fill<<<1, 32, 0, s>>>(reinterpret_cast<float*>(a), 1, 32);
  one_node("kernel");
  DRV(cuStreamEndCapture(s, &graph));
  std::puts(good ? "ok" : "differs");
  return good ? 0 : 1;
}
