// Batches of copies. A result is copied away by the stream that computes it, and one block is
// handed on twice. `racy`: its source may be read at any time, whatever the stream still has to do,
// and both hops are in one batch. The third batch is of boxes. `probe`: when this device reads a
// source.
#include <vector>

#include "breadth.h"

static void CopyBatch(void* const* to, void* const* from, size_t count,
                      cudaMemcpySrcAccessOrder order, cudaStream_t stream, size_t each = kBytes) {
  std::vector<const void*> sources(from, from + count);
  std::vector<void*> targets(to, to + count);
  std::vector<size_t> bytes(count, each);
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = order;
  size_t first = 0;
  OK(cudaMemcpyBatchAsync(targets.data(), sources.data(), bytes.data(), count, &attributes, &first,
                          1, stream));
}

// Half of each row of `to`, packed in `from`.
static void Boxes(float* to, float* from, cudaStream_t stream) {
  constexpr size_t kPitch = 4096, kHalf = kPitch / 2, kRows = kBytes / kPitch;
  cudaMemcpy3DBatchOp boxes[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    boxes[i].src.type = boxes[i].dst.type = cudaMemcpyOperandTypePointer;
    boxes[i].src.op.ptr.ptr = from;
    boxes[i].dst.op.ptr.ptr = reinterpret_cast<char*>(to) + i * kHalf;
    boxes[i].dst.op.ptr.rowLength = kPitch;
    boxes[i].extent = make_cudaExtent(kHalf, kRows, 1);
    boxes[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  }
  OK(cudaMemcpy3DBatchAsync(2, boxes, 0, stream));
}

// Holds its stream up for a while.
static __global__ void Spin(long long clocks) {
  for (const long long begin = clock64(); clock64() - begin < clocks;) {
  }
}

// When does this device read a source? Behind a kernel that takes long, the CPU changes it as soon
// as the call has returned: what arrives is the old value if it was read in the call.
static void Probe(bool pinned, size_t bytes, cudaMemcpySrcAccessOrder order, const char* name) {
  cudaStream_t s = MakeStream();
  const size_t count = bytes / sizeof(float);
  float *device = Device(bytes), *host, last = 0;
  if (pinned) {
    OK(cudaMallocHost(reinterpret_cast<void**>(&host), bytes));
  } else {
    host = static_cast<float*>(std::malloc(bytes));
  }
  int late = 0;
  for (int i = 0; i < 20; ++i) {
    for (size_t k = 0; k < count; ++k) host[k] = 1;
    Spin<<<1, 1, 0, s>>>(20'000'000);
    void *to[] = {device}, *from[] = {host};
    CopyBatch(to, from, 1, order, s, bytes);
    for (size_t k = 0; k < count; ++k) host[k] = 2;
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&last, device + count - 1, sizeof(last), cudaMemcpyDeviceToHost));
    late += last == 2;
  }
  std::printf("%s, %zu KiB, %s: read after the call %d of 20 times\n",
              pinned ? "pinned" : "pageable", bytes >> 10, name, late);
}

// The same for device memory that a kernel of the stream still writes.
static void ProbeDevice(cudaMemcpySrcAccessOrder order, const char* name) {
  cudaStream_t s = MakeStream();
  float *source = Device(), *device = Device(), first = 0;
  int early = 0;
  for (int i = 0; i < 20; ++i) {
    OK(cudaMemset(source, 0, kBytes));
    OK(cudaDeviceSynchronize());
    Spin<<<1, 1, 0, s>>>(20'000'000);
    Fill<<<64, 256, 0, s>>>(source, 1, kCount);
    void *to[] = {device}, *from[] = {source};
    CopyBatch(to, from, 1, order, s);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&first, device + kCount - 1, sizeof(first), cudaMemcpyDeviceToHost));
    early += first == 0;
  }
  std::printf("device, %s: read before the kernel %d of 20 times\n", name, early);
}

static int Probes() {
  const struct {
    cudaMemcpySrcAccessOrder order;
    const char* name;
  } orders[] = {{cudaMemcpySrcAccessOrderStream, "stream"},
                {cudaMemcpySrcAccessOrderDuringApiCall, "during the call"},
                {cudaMemcpySrcAccessOrderAny, "any"}};
  for (const auto& one : orders) {
    for (size_t bytes : {size_t{4} << 10, size_t{256} << 10, kBytes}) {
      Probe(false, bytes, one.order, one.name);
      Probe(true, bytes, one.order, one.name);
    }
    ProbeDevice(one.order, one.name);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "probe") == 0) return Probes();
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  float *a = Device(), *b = Device(), *c = Device(), *matrix = Device(), *host;
  OK(cudaMallocHost(reinterpret_cast<void**>(&host), kBytes));
  const auto in_order = cudaMemcpySrcAccessOrderStream;
  for (int i = 0; i < 3; ++i) {
    Fill<<<64, 256, 0, s>>>(a, 1, kCount);
    void *result[] = {host, b}, *from[] = {a, a};
    CopyBatch(result, from, 1, racy ? cudaMemcpySrcAccessOrderAny : in_order, s);
    void *hops[] = {b, c}, *blocks[] = {a, b};
    if (racy) {
      CopyBatch(hops, blocks, 2, in_order, s);
    } else {
      CopyBatch(hops, blocks, 1, in_order, s);
      CopyBatch(hops + 1, blocks + 1, 1, in_order, s);
    }
    Boxes(matrix, c, s);
    OK(cudaStreamSynchronize(s));
    // What the CPU wrote before the call is there, whenever the copy reads it.
    for (size_t k = 0; k < kCount; ++k) host[k] = 2;
    void *loaded[] = {c}, *ready[] = {host};
    CopyBatch(loaded, ready, 1, cudaMemcpySrcAccessOrderAny, t);
    OK(cudaStreamSynchronize(t));
  }
  std::puts("ok");
}
