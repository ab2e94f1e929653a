// Shareable handles: descriptors of mapped memory and of pools.
#include "cases.h"

namespace {

CUmemAllocationProp Properties() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}
size_t PieceBytes() {
  const CUmemAllocationProp prop = Properties();
  size_t bytes = 0;
  CU(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return bytes;
}
CUdeviceptr Reserve(unsigned pieces) {
  CUdeviceptr at;
  CU(cuMemAddressReserve(&at, pieces * PieceBytes(), 0, 0, 0));
  return at;
}
void Map(CUdeviceptr at, CUmemGenericAllocationHandle handle) {
  const CUmemAllocationProp prop = Properties();
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CU(cuMemMap(at, PieceBytes(), 0, handle, 0));
  CU(cuMemSetAccess(at, PieceBytes(), &access, 1));
}
// A piece of memory that is mapped there, and may be given away.
CUmemGenericAllocationHandle Make(CUdeviceptr at, const char* name) {
  const CUmemAllocationProp prop = Properties();
  CUmemGenericAllocationHandle handle;
  CU(cuMemCreate(&handle, PieceBytes(), &prop, 0));
  Map(at, handle);
  streamsan_buffer(reinterpret_cast<void*>(at), PieceBytes(), name);
  CU(cuMemsetD32(at, 0, PieceBytes() / sizeof(uint32_t)));
  CU(cuCtxSynchronize());
  return handle;
}
void GivePiece(const Link& link, CUmemGenericAllocationHandle handle) {
  int file;
  CU(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  link.SendFile(file);
}
void OpenPiece(const Link& link, CUdeviceptr at) {
  const int file = link.ReceiveFile();
  CUmemGenericAllocationHandle handle;
  CU(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{file}),
                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(file);
  Map(at, handle);
  CU(cuMemRelease(handle));  // lives while it is mapped
}
void Unmap(CUdeviceptr at, unsigned pieces) {
  CU(cuMemUnmap(at, pieces * PieceBytes()));
  CU(cuMemAddressFree(at, pieces * PieceBytes()));
}
uint32_t LastOf(CUdeviceptr buffer) {
  uint32_t word = 0;
  CU(cuCtxSynchronize());
  CU(cuMemcpyDtoH(&word, buffer + kBytes - sizeof word, sizeof word));
  return word;
}

CUmemoryPool MakePool() {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool;
  CU(cuMemPoolCreate(&pool, &props));
  return pool;
}
CUdeviceptr Allocate(CUmemoryPool pool, CUstream stream, const char* name) {
  CUdeviceptr at;
  CU(cuMemAllocFromPoolAsync(&at, kBytes, pool, stream));
  streamsan_buffer(reinterpret_cast<void*>(at), kBytes, name);
  CU(cuMemsetD32Async(at, 0, kCount, stream));
  CU(cuStreamSynchronize(stream));
  return at;
}
void GivePool(const Link& link, CUmemoryPool pool) {
  int file;
  CU(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  link.SendFile(file);
}
CUmemPoolPtrExportData Exported(CUdeviceptr at) {
  CUmemPoolPtrExportData data;
  CU(cuMemPoolExportPointer(&data, at));
  return data;
}
CUmemoryPool OpenPool(const Link& link) {
  const int file = link.ReceiveFile();
  CUmemoryPool pool;
  CU(cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(intptr_t{file}),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  close(file);
  return pool;
}
CUdeviceptr OpenPointer(const Link& link, CUmemoryPool pool) {
  auto data = link.Receive<CUmemPoolPtrExportData>();
  CUdeviceptr at;
  CU(cuMemPoolImportPointer(&at, pool, &data));
  return at;
}

// The owner fills, the user reads, and waits for the owner's event. Lookalike: what the owner fills
// is another one, which the user has, too.
void FillAndRecord(const Gpu& gpu, const Link& link, CUstream stream, CUdeviceptr filled) {
  CUevent event = GiveEvent(link);
  gpu.Fill(stream, filled, 1);
  CU(cuEventRecord(event, stream));
  link.Tell();
  link.Hear();
}
bool WaitAndRead(const Gpu& gpu, const Link& link, Way way, CUstream stream, CUdeviceptr to,
                 CUdeviceptr from) {
  CUevent filled = OpenEvent(link);
  link.Hear();
  if (way == Way::kFixed) CU(cuStreamWaitEvent(stream, filled, 0));
  gpu.Move(stream, to, from);
  return gpu.Holds(to, way == Way::kLookalike ? 0 : 1);
}

}  // namespace

bool MappedOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  const CUdeviceptr a = Reserve(1), other = Reserve(1);
  GivePiece(link, Make(a, "a"));
  GivePiece(link, Make(other, "other"));
  FillAndRecord(gpu, link, s, way == Way::kLookalike ? other : a);
  CU(cuStreamSynchronize(s));
  return gpu.Holds(a, way == Way::kLookalike ? 0 : 1);
}
bool MappedUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  const CUdeviceptr c = gpu.Buffer("c"), a = Reserve(1), other = Reserve(1);
  OpenPiece(link, a);
  OpenPiece(link, other);
  const bool good = WaitAndRead(gpu, link, way, t, c, a);
  Unmap(a, 1);
  Unmap(other, 1);
  link.Tell();
  return good;
}

// Two pieces in a row; what is read lies across both, what is filled in the second one only.
// Lookalike: it is filled behind what is read.
bool PiecesOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  const CUdeviceptr a = Reserve(1), b = Reserve(1);
  GivePiece(link, Make(a, "a"));
  GivePiece(link, Make(b, "b"));
  FillAndRecord(gpu, link, s, way == Way::kLookalike ? b + kBytes : b);
  return true;
}
bool PiecesUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  const CUdeviceptr c = gpu.Buffer("c"), both = Reserve(2);
  OpenPiece(link, both);
  OpenPiece(link, both + PieceBytes());
  CUevent filled = OpenEvent(link);
  link.Hear();
  if (way == Way::kFixed) CU(cuStreamWaitEvent(t, filled, 0));
  streamsan_access(t, reinterpret_cast<void*>(both + PieceBytes() - kBytes / 2), kBytes,
                   STREAMSAN_READ);
  streamsan_access(t, reinterpret_cast<void*>(c), kBytes, STREAMSAN_WRITE);
  gpu.Move(t, c, both + PieceBytes() - kBytes / 2);
  const bool good = LastOf(c) == (way == Way::kLookalike ? 0u : 1u);
  Unmap(both, 2);
  link.Tell();
  return good;
}

// The user unmaps what it still reads; fixed: it waits first. Lookalike: the owner unmaps it, and
// the user's mapping stays as it is.
bool UnmappedOwner(const Gpu& gpu, const Link& link, Way way) {
  const CUdeviceptr a = Reserve(1);
  const CUmemGenericAllocationHandle handle = Make(a, "a");
  GivePiece(link, handle);
  CU(cuMemRelease(handle));
  link.Hear();
  if (way == Way::kLookalike) Unmap(a, 1);
  link.Tell();
  link.Hear();
  return way == Way::kLookalike || gpu.Holds(a, 0);
}
bool UnmappedUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  const CUdeviceptr c = gpu.Buffer("c"), a = Reserve(1);
  OpenPiece(link, a);
  gpu.Move(t, c, a);
  if (way == Way::kFixed) CU(cuStreamSynchronize(t));
  if (way != Way::kLookalike) Unmap(a, 1);
  link.Tell();
  link.Hear();
  if (way == Way::kLookalike) gpu.Move(t, c, a);
  const bool good = gpu.Holds(c, 0);
  if (way == Way::kLookalike) Unmap(a, 1);
  link.Tell();
  return good;
}

bool PoolOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  CUmemoryPool pool = MakePool();
  const CUdeviceptr a = Allocate(pool, s, "a"), other = Allocate(pool, s, "other");
  GivePool(link, pool);
  link.Send(Exported(a));
  link.Send(Exported(other));
  FillAndRecord(gpu, link, s, way == Way::kLookalike ? other : a);
  CU(cuMemFreeAsync(a, s));
  CU(cuMemFreeAsync(other, s));
  CU(cuStreamSynchronize(s));
  return true;
}
bool PoolUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUmemoryPool pool = OpenPool(link);
  const CUdeviceptr c = gpu.Buffer("c"), a = OpenPointer(link, pool),
                    other = OpenPointer(link, pool);
  const bool good = WaitAndRead(gpu, link, way, t, c, a);
  CU(cuMemFreeAsync(a, t));
  CU(cuMemFreeAsync(other, t));
  CU(cuStreamSynchronize(t));
  link.Tell();
  return good;
}

// The owner gives the memory back to its pool while the user reads it; fixed: the user has waited.
// Lookalike: what it gives back is the pool's other pointer.
bool ReturnedOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("owner");
  CUmemoryPool pool = MakePool();
  const CUdeviceptr a = Allocate(pool, s, "a"), other = Allocate(pool, s, "other");
  const CUmemPoolPtrExportData pointer = Exported(a);  // before its pool is given away
  GivePool(link, pool);
  link.Send(pointer);
  link.Hear();
  CU(cuMemFreeAsync(way == Way::kLookalike ? other : a, s));
  const CUdeviceptr next = Allocate(pool, s, "next");
  gpu.Fill(s, next, 2);
  CU(cuStreamSynchronize(s));
  link.Tell();
  link.Hear();
  return true;
}
bool ReturnedUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUmemoryPool pool = OpenPool(link);
  const CUdeviceptr c = gpu.Buffer("c"), a = OpenPointer(link, pool);
  gpu.Move(t, c, a);
  if (way == Way::kFixed) {
    CU(cuStreamSynchronize(t));
    CU(cuMemFree(a));
  }
  link.Tell();
  link.Hear();
  const bool good = gpu.Holds(c, 0);
  if (way != Way::kFixed) CU(cuMemFree(a));
  link.Tell();
  return good;
}
