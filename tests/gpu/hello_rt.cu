// A program of the CUDA runtime that uses most of what the capture library models, on a real GPU.
// Built with the static and with the shared runtime: they find the driver in different ways.
//
// Prints "hello_rt ok" and exits 0 when the data came out right.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define OK(call)                                                                    \
  do {                                                                              \
    cudaError_t error = call;                                                       \
    if (error != cudaSuccess) {                                                     \
      std::fprintf(stderr, "hello_rt: %s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

namespace {

constexpr int kCount = 1 << 16;
constexpr int kRounds = 100;

struct Arrays {  // pointers inside a struct by value
  const float* in[2];
  float* out;
  int count;
};

__global__ void Add(Arrays arrays) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < arrays.count) arrays.out[i] = arrays.in[0][i] + arrays.in[1][i];
}

__global__ void Scale(float* values, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

void CUDART_CB Count(void* counter) { ++*static_cast<int*>(counter); }

// Two streams, an event between them, and a copy back: 2 * (1 + 2) everywhere.
float TwoStreams() {
  cudaStream_t compute, comm;
  cudaEvent_t added;
  float *a, *b, *sum, *host;
  OK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithPriority(&comm, cudaStreamNonBlocking, 0));
  OK(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));
  OK(cudaMalloc(&a, kCount * sizeof(float)));
  OK(cudaMalloc(&b, kCount * sizeof(float)));
  OK(cudaMallocAsync(&sum, kCount * sizeof(float), compute));
  OK(cudaMallocHost(&host, kCount * sizeof(float)));
  std::vector<float> one(kCount, 1), two(kCount, 2);
  OK(cudaMemcpy(a, one.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  OK(cudaMemcpy(b, two.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  OK(cudaDeviceSynchronize());  // from pageable memory the last part may still be on its way (rule 9)
  OK(cudaMemsetAsync(sum, 0, kCount * sizeof(float), compute));
  int calls = 0;
  for (int round = 0; round < kRounds; ++round) {
    Add<<<kCount / 256, 256, 0, compute>>>({{a, b}, sum, kCount});
    OK(cudaEventRecord(added, compute));
    OK(cudaStreamWaitEvent(comm, added, 0));
    Scale<<<kCount / 256, 256, 0, comm>>>(sum, 2, kCount);
    OK(cudaMemcpyAsync(host, sum, kCount * sizeof(float), cudaMemcpyDeviceToHost, comm));
    OK(cudaLaunchHostFunc(comm, Count, &calls));
    OK(cudaStreamSynchronize(comm));
  }
  OK(cudaGetLastError());
  float value = host[kCount - 1];
  if (calls != kRounds) value = -1;
  OK(cudaFreeAsync(sum, compute));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(a));
  OK(cudaFree(b));
  OK(cudaFreeHost(host));
  OK(cudaEventDestroy(added));
  OK(cudaStreamDestroy(compute));
  OK(cudaStreamDestroy(comm));
  return value;
}

// The default stream from a second thread, a graph, an event query: seen, or counted as not
// modelled.
void Rest() {
  std::thread([] {
    float* block;
    cudaEvent_t start, end;
    float milliseconds = 0;
    OK(cudaMalloc(&block, kCount * sizeof(float)));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(start));
    Scale<<<kCount / 256, 256>>>(block, 1, kCount);
    OK(cudaEventRecord(end));
    while (cudaEventQuery(end) == cudaErrorNotReady) {
    }
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaFree(block));
  }).join();
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  float* block;
  OK(cudaMalloc(&block, kCount * sizeof(float)));
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Scale<<<kCount / 256, 256, 0, stream>>>(block, 1, kCount);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(block));
}

}  // namespace

int main() {
  float value = TwoStreams();
  Rest();
  if (value != 6) {
    std::fprintf(stderr, "hello_rt: %g instead of 6\n", value);
    return 1;
  }
  std::puts("hello_rt ok");
  return 0;
}
