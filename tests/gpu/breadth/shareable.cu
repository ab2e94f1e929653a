// Two processes share memory by a file descriptor: mapped memory, or with `pool` as the second word
// a pool's pointer. The parent fills it and records an event, the child waits for that, or does not
// in `racy`, and reads.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../descriptor.h"
#include "breadth.h"
static void Send(int link, const void* from, size_t bytes) {
  if (write(link, from, bytes) != static_cast<ssize_t>(bytes)) std::exit(5);
}
static void Receive(int link, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes) {
    ssize_t got = read(link, at, bytes);
    if (got <= 0) std::exit(5);
    at += got;
    bytes -= static_cast<size_t>(got);
  }
}
static void SendFile(int link, int file) {
  if (!SendDescriptor(link, file)) std::exit(5);
  close(file);
}
static void* ReceiveFile(int link) {
  const int file = ReceiveDescriptor(link);
  if (file < 0) std::exit(5);
  return reinterpret_cast<void*>(static_cast<intptr_t>(file));
}

constexpr CUmemAllocationHandleType kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
static CUmemAllocationProp Properties() {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = kFile;
  return prop;
}
static size_t Piece() {
  CUmemAllocationProp prop = Properties();
  size_t piece = 0;
  DRV(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  return (kBytes + piece - 1) / piece * piece;
}
static float* Map(CUmemGenericAllocationHandle handle) {
  CUmemAccessDesc access = {Properties().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr at;
  DRV(cuMemAddressReserve(&at, Piece(), 0, 0, 0));
  DRV(cuMemMap(at, Piece(), 0, handle, 0));
  DRV(cuMemSetAccess(at, Piece(), &access, 1));
  DRV(cuMemRelease(handle));
  return reinterpret_cast<float*>(at);
}
static float* MakeMapped(int link) {
  CUmemAllocationProp prop = Properties();
  CUmemGenericAllocationHandle handle;
  int file;
  DRV(cuMemCreate(&handle, Piece(), &prop, 0));
  DRV(cuMemExportToShareableHandle(&file, handle, kFile, 0));
  SendFile(link, file);
  return Map(handle);
}
static float* OpenMapped(int link) {
  void* file = ReceiveFile(link);
  CUmemGenericAllocationHandle handle;
  DRV(cuMemImportFromShareableHandle(&handle, file, kFile));
  close(static_cast<int>(reinterpret_cast<intptr_t>(file)));
  return Map(handle);
}
static float* MakePool(int link, cudaStream_t stream) {
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = kFile;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool;
  CUdeviceptr at;
  CUmemPoolPtrExportData data;
  int file;
  DRV(cuMemPoolCreate(&pool, &props));
  DRV(cuMemAllocFromPoolAsync(&at, kBytes, pool, stream));
  OK(cudaStreamSynchronize(stream));
  DRV(cuMemPoolExportToShareableHandle(&file, pool, kFile, 0));
  DRV(cuMemPoolExportPointer(&data, at));
  SendFile(link, file);
  Send(link, &data, sizeof data);
  return reinterpret_cast<float*>(at);
}
static float* OpenPool(int link) {
  void* file = ReceiveFile(link);
  CUmemPoolPtrExportData data;
  Receive(link, &data, sizeof data);
  CUmemoryPool pool;
  CUdeviceptr at;
  DRV(cuMemPoolImportFromShareableHandle(&pool, file, kFile, 0));
  close(static_cast<int>(reinterpret_cast<intptr_t>(file)));
  CUmemAccessDesc access = {Properties().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  DRV(cuMemPoolSetAccess(pool, &access, 1));
  DRV(cuMemPoolImportPointer(&at, pool, &data));
  return reinterpret_cast<float*>(at);
}
static int Child(int link, bool racy, bool pool) {
  cudaStream_t t = MakeStream();
  float* b = Device();
  float* memory = pool ? OpenPool(link) : OpenMapped(link);
  cudaIpcEventHandle_t event;
  cudaEvent_t filled;
  Receive(link, &event, sizeof event);
  OK(cudaIpcOpenEventHandle(&filled, event));
  char go;
  Receive(link, &go, 1);
  if (!racy) OK(cudaStreamWaitEvent(t, filled));
  Copy<<<64, 256, 0, t>>>(b, memory, kCount);
  OK(cudaStreamSynchronize(t));
  if (pool) DRV(cuMemFree(reinterpret_cast<CUdeviceptr>(memory)));
  if (!pool) DRV(cuMemUnmap(reinterpret_cast<CUdeviceptr>(memory), Piece()));
  Send(link, "d", 1);
  return 0;
}
int main(int argc, char** argv) {
  const bool racy = Racy(argc, argv), pool = argc > 2 && std::strcmp(argv[2], "pool") == 0;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 7;
  pid_t child = fork();
  if (child == 0) return Child(ends[1], racy, pool);
  const int link = ends[0];
  OK(cudaFree(nullptr));
  cudaStream_t s = MakeStream();
  float* a = pool ? MakePool(link, s) : MakeMapped(link);
  cudaIpcEventHandle_t event;
  cudaEvent_t filled;
  OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
  OK(cudaIpcGetEventHandle(&event, filled));
  Send(link, &event, sizeof event);
  Fill<<<64, 256, 0, s>>>(a, 1, kCount);
  OK(cudaEventRecord(filled, s));
  Send(link, "g", 1);
  char done;
  Receive(link, &done, 1);
  int status = 0;
  waitpid(child, &status, 0);
  OK(cudaStreamSynchronize(s));
  if (pool) DRV(cuMemFree(reinterpret_cast<CUdeviceptr>(a)));
  if (!pool) DRV(cuMemUnmap(reinterpret_cast<CUdeviceptr>(a), Piece()));
  std::puts(status == 0 ? "ok" : "child failed");
  return status == 0 ? 0 : 9;
}
