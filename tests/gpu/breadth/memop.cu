// Two streams ordered by a value in memory: the consumer waits for 1, which the producer writes
// after its kernel, or before it in `racy`.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream(), t = MakeStream();
  float *a = Device(), *b = Device();
  auto flag = reinterpret_cast<CUdeviceptr>(Device(4096));
  for (unsigned i = 1; i <= 3; ++i) {
    if (racy) DRV(cuStreamWriteValue32(s, flag, i, 0));
    Fill<<<64, 256, 0, s>>>(a, static_cast<float>(i), kCount);
    if (!racy) DRV(cuStreamWriteValue32(s, flag, i, 0));
    CUstreamBatchMemOpParams wait = {};
    wait.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.waitValue.address = flag;
    wait.waitValue.value = i;
    wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    DRV(cuStreamBatchMemOp(t, 1, &wait, 0));
    Copy<<<64, 256, 0, t>>>(b, a, kCount);
    DRV(cuStreamWriteValue32(t, flag + 64, i, 0));
    DRV(cuStreamWaitValue32(s, flag + 64, i, CU_STREAM_WAIT_VALUE_EQ));
  }
  OK(cudaDeviceSynchronize());
  std::puts("ok");
}
