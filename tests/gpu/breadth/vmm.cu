// Virtual memory management, as an expandable segment: a range is reserved once and mapped piece by
// piece. A piece is unmapped while another stream's kernel may still use it in `racy`.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  OK(cudaFree(nullptr));
  cudaStream_t s = MakeStream(), t = MakeStream();
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t piece = 0;
  DRV(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  if (piece < kBytes) piece = (kBytes + piece - 1) / piece * piece;
  CUdeviceptr base;
  DRV(cuMemAddressReserve(&base, 4 * piece, 0, 0, 0));
  CUmemGenericAllocationHandle handles[2];
  CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (int i = 0; i < 2; ++i) {
    DRV(cuMemCreate(&handles[i], piece, &prop, 0));
    DRV(cuMemMap(base + i * piece, piece, 0, handles[i], 0));
    DRV(cuMemSetAccess(base + i * piece, piece, &access, 1));
  }
  auto* a = reinterpret_cast<float*>(base);
  auto* b = reinterpret_cast<float*>(base + piece);
  cudaEvent_t done = MakeEvent();
  Fill<<<64, 256, 0, s>>>(a, 1, kCount);
  OK(cudaEventRecord(done, s));
  if (!racy) OK(cudaStreamWaitEvent(t, done));
  Copy<<<64, 256, 0, t>>>(b, a, kCount);
  OK(cudaDeviceSynchronize());
  DRV(cuMemUnmap(base + piece, piece));
  DRV(cuMemRelease(handles[1]));
  DRV(cuMemUnmap(base, piece));
  DRV(cuMemRelease(handles[0]));
  DRV(cuMemAddressFree(base, 4 * piece));
  std::puts("ok");
}
