// What the programs of this folder share. Each takes `racy` or `fixed` and exits with 0 when it
// ran.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OK(call)                                                         \
  do {                                                                   \
    cudaError_t error = (call);                                          \
    if (error != cudaSuccess) {                                          \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(error));                           \
      std::exit(3);                                                      \
    }                                                                    \
  } while (0)
#define DRV(call)                                                                             \
  do {                                                                                        \
    CUresult error = (call);                                                                  \
    if (error != CUDA_SUCCESS) {                                                              \
      std::fprintf(stderr, "%s:%d: %s: driver error %d\n", __FILE__, __LINE__, #call, error); \
      std::exit(3);                                                                           \
    }                                                                                         \
  } while (0)

constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

static __global__ void Fill(float* x, float value, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = value;
}
static __global__ void Axpy(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = y[i] + a * x[i];
}
static __global__ void Copy(float* y, const float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i];
}

static inline bool Racy(int argc, char** argv) {
  return argc > 1 && std::strcmp(argv[1], "racy") == 0;
}
static inline cudaStream_t MakeStream() {
  cudaStream_t stream;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
static inline cudaEvent_t MakeEvent() {
  cudaEvent_t event;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}
static inline float* Device(size_t bytes = kBytes) {
  float* x;
  OK(cudaMalloc(&x, bytes));
  OK(cudaMemset(x, 0, bytes));
  OK(cudaDeviceSynchronize());
  return x;
}
