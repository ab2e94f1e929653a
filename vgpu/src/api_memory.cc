// Device, pinned, registered and managed memory, and what a pointer is.
#include "api_graph.h"

using namespace ss::vgpu;

namespace {

CUresult Allocate(Call& call, MemoryKind kind, size_t bytes, unsigned flags, uint64_t* address) {
  if (!address || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = Forbidden(call)) return error;
  const Block* block = call.machine.memory->Allocate(kind, RootOf(call.context), bytes, flags);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = block->base;
  return CUDA_SUCCESS;
}

CUresult AllocateHost(void** pointer, size_t bytes, unsigned flags) {
  VGPU_ENTER_CONTEXT(call);
  uint64_t address = 0;
  const CUresult result =
      Allocate(call, MemoryKind::kPinned, bytes, flags, pointer ? &address : nullptr);
  if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<void*>(address);
  return result;
}

Block* Exactly(Call& call, uint64_t address) {
  Block* block = call.machine.memory->Find(address);
  return block && block->base == address ? block : nullptr;
}

}  // namespace

VGPU_EXPORT cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  VGPU_ENTER_CONTEXT(call);
  uint64_t at = 0;
  const CUresult result = Allocate(call, MemoryKind::kDevice, bytes, 0, address ? &at : nullptr);
  if (result == CUDA_SUCCESS) *address = at;
  return result;
}

VGPU_EXPORT cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                               unsigned int element) {
  if (!address || !pitch || !width || !height) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(address, *pitch * height);
}

VGPU_EXPORT cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  VGPU_ENTER_CONTEXT(call);
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  uint64_t at = 0;
  const CUresult result =
      Allocate(call, MemoryKind::kManaged, bytes, flags, address ? &at : nullptr);
  if (result == CUDA_SUCCESS) *address = at;
  return result;
}

// Waits for the whole device, as a by-product of unmapping (rule 16: nothing may rely on it).
VGPU_EXPORT cuMemFree_v2(CUdeviceptr address) {
  VGPU_ENTER_CONTEXT(call);
  if (!address) return CUDA_SUCCESS;
  if (const CUresult error = Forbidden(call)) return error;
  Block* block = Exactly(call, address);
  if (!block || block->OnHost() || block->opened) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = call.Wait(call.machine.DeviceTails(block->device))) return error;
  block = Exactly(call, address);  // another thread may have been quicker
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  if (Pool* pool = block->pool) {
    if (pool->imported < 0) {
      pool->ranges.push_back({block->base, block->reserved, nullptr, nullptr});
    }
    pool->used -= block->reserved;
  }
  call.machine.memory->Release(block);
  return CUDA_SUCCESS;
}

// Where pages lie, and who may touch them, changes no data.
static CUresult Hint(CUdeviceptr address, size_t bytes, CUstream handle, DefaultStream which) {
  VGPU_ENTER_CONTEXT(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  const Block* block = call.machine.memory->Find(address);
  if (!block || block->kind != MemoryKind::kManaged || !block->Holds(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return call.Run(*stream, {Work::kMarker, "hint"});
}
#undef cuMemPrefetchAsync
VGPU_STREAM_EXPORT(cuMemPrefetchAsync_v2, _ptsz,
                   (CUdeviceptr address, size_t bytes, CUmemLocation, unsigned int, CUstream s),
                   Hint(address, bytes, s, kDefault))
VGPU_STREAM_EXPORT(cuStreamAttachMemAsync, _ptsz,
                   (CUstream s, CUdeviceptr address, size_t bytes, unsigned int),
                   Hint(address, bytes, s, kDefault))
#undef cuMemAdvise
VGPU_EXPORT cuMemAdvise_v2(CUdeviceptr address, size_t, CUmem_advise, CUmemLocation) {
  VGPU_ENTER(call);
  return call.machine.memory->Find(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VGPU_EXPORT cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return AllocateHost(pointer, bytes, 0);
}
VGPU_EXPORT cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return AllocateHost(pointer, bytes, flags);
}

// Does not wait for anything: copies that are under way go on in whatever lives there next.
VGPU_EXPORT cuMemFreeHost(void* pointer) {
  VGPU_ENTER_CONTEXT(call);
  Block* block = Exactly(call, reinterpret_cast<uint64_t>(pointer));
  if (!block || block->kind != MemoryKind::kPinned) return CUDA_ERROR_INVALID_VALUE;
  call.machine.memory->Release(block);
  return CUDA_SUCCESS;
}

static CUresult Register(void* pointer, size_t bytes, unsigned int flags) {
  VGPU_ENTER_CONTEXT(call);
  if (!pointer || !bytes) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = *call.machine.memory;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  auto next = memory.blocks().lower_bound(address);
  if (memory.Find(address) || (next != memory.blocks().end() && next->first - address < bytes)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  Block block;
  block.base = address;
  block.bytes = block.reserved = bytes;
  block.kind = MemoryKind::kRegistered;
  block.context = RootOf(call.context);
  block.device = call.context->device;
  block.flags = flags;
  memory.Adopt(block);
  return CUDA_SUCCESS;
}
#undef cuMemHostRegister
VGPU_EXPORT cuMemHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return Register(pointer, bytes, flags);
}
VGPU_EXPORT cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  return Register(pointer, bytes, flags);
}

VGPU_EXPORT cuMemHostUnregister(void* pointer) {
  VGPU_ENTER_CONTEXT(call);
  Block* block = Exactly(call, reinterpret_cast<uint64_t>(pointer));
  if (!block || block->kind != MemoryKind::kRegistered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  call.machine.memory->Release(block);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned int flags) {
  VGPU_ENTER_CONTEXT(call);
  const Block* block = call.machine.memory->Find(reinterpret_cast<uint64_t>(pointer));
  if (!address || flags || !block || !block->OnHost()) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<uint64_t>(pointer);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemHostGetFlags(unsigned int* flags, void* pointer) {
  VGPU_ENTER_CONTEXT(call);
  const Block* block = call.machine.memory->Find(reinterpret_cast<uint64_t>(pointer));
  if (!flags || !block || !block->OnHost()) return CUDA_ERROR_INVALID_VALUE;
  *flags = block->flags;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemGetInfo_v2(size_t* free, size_t* total) {
  VGPU_ENTER_CONTEXT(call);
  if (!free || !total) return CUDA_ERROR_INVALID_VALUE;
  const Arena& arena = call.machine.memory->device(call.context->device);
  *total = arena.bytes();
  *free = arena.bytes() - arena.taken();
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  VGPU_ENTER_CONTEXT(call);
  const Block* block = call.machine.memory->Find(address);
  if (!block) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = block->base;
  if (size) *size = block->bytes;
  return CUDA_SUCCESS;
}
