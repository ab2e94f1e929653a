// Virtual memory management: reserved ranges into which memory is mapped. Each allocation is a file
// of its own, so that it may be mapped to several places, its data stay when it is unmapped, and
// other processes may have it.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "api_graph.h"
#include "ipc.h"

using namespace ss::vgpu;

namespace {

constexpr uint64_t kGrain = 2 << 20;
constexpr uint64_t kBase = 0x7ec0'0000'0000, kEnd = 0x7ed0'0000'0000;

struct Physical {
  int file = -1;
  uint64_t bytes = 0;
  int device = 0;
  bool exportable = false;
  uint64_t mapped = 0;   // how often
  unsigned handles = 1;  // without any it lives until it is mapped nowhere
};

// Under the machine's lock. Handles are never used again.
struct Space {
  std::map<uint64_t, uint64_t> reserved;  // base -> bytes
  std::map<uint64_t, Physical> physical;  // by handle
  struct Mapping {
    uint64_t bytes = 0, handle = 0;
  };
  std::map<uint64_t, Mapping> mapped;  // by address
  uint64_t handles = 0;
};
Space& TheSpace() {
  static Space& space = *new Space();
  return space;
}

bool Reserved(uint64_t address, uint64_t bytes) {
  const auto& reserved = TheSpace().reserved;
  auto after = reserved.upper_bound(address);
  if (after == reserved.begin()) return false;
  const auto& [base, size] = *std::prev(after);
  return address - base < size && bytes <= size - (address - base);
}

void DropIfUnused(std::map<uint64_t, Physical>::iterator memory) {
  if (memory->second.handles || memory->second.mapped) return;
  close(memory->second.file);
  TheSpace().physical.erase(memory);
}

}  // namespace

VGPU_EXPORT cuMemGetAllocationGranularity(size_t* grain, const CUmemAllocationProp* prop,
                                          CUmemAllocationGranularity_flags) {
  if (!grain || !prop) return CUDA_ERROR_INVALID_VALUE;
  *grain = kGrain;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                                unsigned long long flags) {
  VGPU_ENTER(call);
  if (!address || !bytes || bytes % kGrain || flags) return CUDA_ERROR_INVALID_VALUE;
  uint64_t at = kBase;
  for (const auto& [base, size] : TheSpace().reserved) {
    if (base - at >= bytes) break;
    at = base + size;
  }
  if (at + bytes > kEnd) return CUDA_ERROR_OUT_OF_MEMORY;
  void* taken = mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (taken == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  TheSpace().reserved[at] = bytes;
  *address = at;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  VGPU_ENTER(call);
  auto found = TheSpace().reserved.find(address);
  if (found == TheSpace().reserved.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapping = TheSpace().mapped.lower_bound(address);
  if (mapping != TheSpace().mapped.end() && mapping->first < address + bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  munmap(reinterpret_cast<void*>(address), bytes);
  TheSpace().reserved.erase(found);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                        const CUmemAllocationProp* prop, unsigned long long flags) {
  VGPU_ENTER(call);
  if (!handle || !prop || !bytes || bytes % kGrain || flags) return CUDA_ERROR_INVALID_VALUE;
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!ValidDevice(prop->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  const int file = MakeFile("memory", prop->location.id);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    if (file >= 0) close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = ++TheSpace().handles;
  const bool exportable = prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  TheSpace().physical[*handle] = {file, bytes, prop->location.id, exportable};
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemRelease(CUmemGenericAllocationHandle handle) {
  VGPU_ENTER(call);
  auto found = TheSpace().physical.find(handle);
  if (found == TheSpace().physical.end() || !found->second.handles) return CUDA_ERROR_INVALID_VALUE;
  --found->second.handles;
  DropIfUnused(found);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  VGPU_ENTER(call);
  const Block* block = call.machine.memory->Find(reinterpret_cast<uint64_t>(address));
  auto mapping = block ? TheSpace().mapped.find(block->base) : TheSpace().mapped.end();
  if (!handle || mapping == TheSpace().mapped.end()) return CUDA_ERROR_INVALID_VALUE;
  *handle = mapping->second.handle;
  ++TheSpace().physical[*handle].handles;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                         CUmemAllocationHandleType type, unsigned long long flags) {
  VGPU_ENTER(call);
  auto found = TheSpace().physical.find(handle);
  if (!shareable || flags || found == TheSpace().physical.end() || !found->second.handles) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (!found->second.exportable) return CUDA_ERROR_INVALID_VALUE;
  return ExportFile(found->second.file, shareable);
}

VGPU_EXPORT cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                           CUmemAllocationHandleType type) {
  VGPU_ENTER(call);
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const ImportedFile imported = ImportFile("memory", shareable);
  if (imported.file < 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = ++TheSpace().handles;
  TheSpace().physical[*handle] = {imported.file, imported.bytes, imported.device};
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                     CUmemGenericAllocationHandle handle, unsigned long long flags) {
  VGPU_ENTER_CONTEXT(call);
  auto found = TheSpace().physical.find(handle);
  if (found == TheSpace().physical.end() || offset || flags) return CUDA_ERROR_INVALID_VALUE;
  if (bytes != found->second.bytes || !Reserved(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  auto next = TheSpace().mapped.lower_bound(address);
  const bool behind = next != TheSpace().mapped.end() && next->first < address + bytes;
  const bool before = next != TheSpace().mapped.begin() &&
                      std::prev(next)->first + std::prev(next)->second.bytes > address;
  if (behind || before) return CUDA_ERROR_INVALID_VALUE;
  void* at = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED, found->second.file, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  ++found->second.mapped;
  TheSpace().mapped[address] = {bytes, handle};
  Block block;
  block.base = address;
  block.bytes = block.reserved = bytes;
  block.kind = MemoryKind::kDevice;
  block.context = RootOf(call.context);
  block.device = found->second.device;
  block.mapped = true;
  call.machine.memory->Adopt(block);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* desc,
                           size_t count) {
  VGPU_ENTER(call);
  if (!desc || !count) return CUDA_ERROR_INVALID_VALUE;
  const Block* block = call.machine.memory->Find(address);
  return block && block->mapped && bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Waits for the device, as cuMemFree does: work that is under way must not fall into a hole.
VGPU_EXPORT cuMemUnmap(CUdeviceptr address, size_t bytes) {
  VGPU_ENTER(call);
  auto& mapped = TheSpace().mapped;
  uint64_t at = address;
  for (auto piece = mapped.find(at);
       piece != mapped.end() && piece->first == at && at < address + bytes; ++piece) {
    at += piece->second.bytes;
  }
  if (at != address + bytes || !bytes) return CUDA_ERROR_INVALID_VALUE;
  for (uint64_t device = 0; device < options().devices; ++device) {
    const auto tails = call.machine.DeviceTails(static_cast<int>(device));
    if (const CUresult error = call.Wait(tails)) return error;
  }
  for (auto piece = mapped.find(address);
       piece != mapped.end() && piece->first < address + bytes;) {
    mmap(reinterpret_cast<void*>(piece->first), piece->second.bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    call.machine.memory->Release(call.machine.memory->Find(piece->first));
    auto memory = TheSpace().physical.find(piece->second.handle);
    --memory->second.mapped;
    DropIfUnused(memory);
    piece = mapped.erase(piece);
  }
  return CUDA_SUCCESS;
}
