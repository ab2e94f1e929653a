// Rows with gaps: two streams copy columns of their own into one matrix, which needs no order, and
// boxes into one cube. `racy`: then one of them copies columns on that are partly the other's.
#include <vector>

#include "breadth.h"

constexpr size_t kPitch = 4096, kHalf = kPitch / 2, kRows = kBytes / kPitch;

static char* At(float* matrix, size_t column) { return reinterpret_cast<char*>(matrix) + column; }

// Half of the slices of a cube of 16 x 64 rows, each time other rows of them.
static void Box(float* cube, float* from, size_t row, cudaStream_t stream) {
  cudaMemcpy3DParms box{};
  box.srcPtr = make_cudaPitchedPtr(from, kHalf, kHalf, 16);
  box.dstPtr = make_cudaPitchedPtr(cube, kPitch, kPitch, 64);
  box.dstPos = make_cudaPos(0, row, 0);
  box.extent = make_cudaExtent(kHalf, 16, 16);
  box.kind = cudaMemcpyDeviceToDevice;
  OK(cudaMemcpy3DAsync(&box, stream));
}

int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  cudaEvent_t copied = MakeEvent();
  float *matrix = Device(), *out = Device(), *cube = Device(), *box = Device();
  float* host;
  OK(cudaMallocHost(reinterpret_cast<void**>(&host), kBytes));
  for (size_t i = 0; i < kCount; ++i) host[i] = 1;
  for (int i = 0; i < 3; ++i) {
    OK(cudaMemcpy2DAsync(matrix, kPitch, host, kPitch, kHalf, kRows, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpy2DAsync(At(matrix, kHalf), kPitch, host, kHalf, kHalf, kRows,
                         cudaMemcpyHostToDevice, t));
    OK(cudaEventRecord(copied, s));
    if (!racy) OK(cudaStreamWaitEvent(t, copied));
    OK(cudaMemcpy2DAsync(out, kPitch, At(matrix, kHalf / 2), kPitch, kHalf, kRows,
                         cudaMemcpyDeviceToDevice, t));
    OK(cudaMemset2DAsync(At(out, kHalf), kPitch, 1, kHalf, kRows, s));
    Box(cube, box, 0, s);
    Box(cube, box, 16, t);
    OK(cudaMemset2DAsync(At(cube, kHalf), kPitch, 0, kHalf, kRows, t));
    OK(cudaDeviceSynchronize());
  }
  std::vector<float> got(kHalf / sizeof(float) * kRows);
  OK(cudaMemcpy2D(got.data(), kHalf, out, kPitch, kHalf, kRows, cudaMemcpyDeviceToHost));
  for (float one : got) {
    if (one != 1 && !racy) return std::puts("wrong"), 4;
  }
  std::puts("ok");
}
