// Stream-ordered allocation and memory pools.
#include <unistd.h>

#include <algorithm>

#include "api_graph.h"

using namespace ss::vgpu;

namespace {

constexpr uint64_t kGrain = 512;

void Account(Pool& pool, int64_t used, int64_t reserved) {
  pool.used += static_cast<uint64_t>(used);
  pool.reserved += static_cast<uint64_t>(reserved);
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

// Storage for `bytes`: handed-back storage if any fits, else new from the device.
bool Provide(Call& call, Pool& pool, const Stream* stream, uint64_t bytes, FreeRange* range,
             OpPtr* after) {
  if (!TakeRange(pool, stream, bytes, range, after)) {
    const auto fresh = call.machine.memory->device(pool.device).Take(bytes);
    if (!fresh) return false;
    *range = {*fresh, bytes, nullptr, nullptr};
    Account(pool, 0, static_cast<int64_t>(bytes));
  }
  Account(pool, static_cast<int64_t>(range->reserved), 0);
  return true;
}

CUresult AllocateAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool handle,
                       CUstream stream_handle, DefaultStream which) {
  VGPU_ENTER(call);
  if (!address || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(stream_handle, which, &stream)) return error;
  if (stream->capture) {  // a node; the block is the graph's for as long as that lives
    Block* block =
        call.machine.memory->Allocate(MemoryKind::kDevice, RootOf(stream->context), bytes, 0);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    block->of_graph = true;
    *address = block->base;
    GraphNode* node = CaptureNode(*stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    node->address = block->base;
    node->work = {Work::kMarker, "allocate"};
    return CUDA_SUCCESS;
  }
  Pool* pool = handle ? call.machine.pools.Find(handle)
                      : call.machine.current_pools[static_cast<size_t>(stream->context->device)];
  if (!pool || pool->imported >= 0) return CUDA_ERROR_INVALID_VALUE;
  FreeRange range;
  NewOp allocation{Work::kMarker, "allocate"};
  OpPtr after;
  const uint64_t reserved = (bytes + kGrain - 1) / kGrain * kGrain;
  if (!Provide(call, *pool, stream, reserved, &range, &after)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (after) allocation.after.push_back(after);
  Block block;
  block.base = range.base;
  block.bytes = bytes;
  block.reserved = range.reserved;
  block.kind = MemoryKind::kDevice;
  block.context = RootOf(stream->context);
  block.device = pool->device;
  block.pool = pool;
  call.machine.memory->Adopt(block);
  *address = range.base;
  return call.Run(*stream, std::move(allocation));
}

CUresult FreeAsync(CUdeviceptr address, CUstream stream_handle, DefaultStream which) {
  VGPU_ENTER(call);
  if (!address) return CUDA_SUCCESS;
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(stream_handle, which, &stream)) return error;
  Block* block = call.machine.memory->Find(address);
  if (!block || block->base != address || block->kind != MemoryKind::kDevice) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture) {
    GraphNode* node = CaptureNode(*stream, CU_GRAPH_NODE_TYPE_MEM_FREE);
    node->address = address;
    node->work = {Work::kMarker, "free"};
    return CUDA_SUCCESS;
  }
  if (block->of_graph) return call.Run(*stream, {Work::kMarker, "free"});
  // Memory of cuMemAlloc may be freed this way too; it returns to no pool, so it is kept until the
  // end.
  OpPtr freed = call.machine.Issue(*stream, {Work::kMarker, "free"});
  if (Pool* pool = block->pool) {
    // Another process's stays mapped: what is under way falls into no hole.
    if (pool->imported < 0) {
      pool->ranges.push_back({block->base, block->reserved, std::move(freed), stream});
    }
    Account(*pool, -static_cast<int64_t>(block->reserved), 0);
  } else {
    block->pool = call.machine.default_pools[static_cast<size_t>(block->device)];
    block->pool->ranges.push_back({block->base, block->reserved, std::move(freed), stream});
    Account(*block->pool, 0, static_cast<int64_t>(block->reserved));
  }
  call.machine.memory->Release(block);
  call.machine.HostStep(call.lock);
  return CUDA_SUCCESS;
}

CUresult DevicePool(CUmemoryPool* pool, CUdevice device, bool current) {
  VGPU_ENTER(call);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto& pools = current ? call.machine.current_pools : call.machine.default_pools;
  *pool = reinterpret_cast<CUmemoryPool>(pools[static_cast<size_t>(device)]);
  return CUDA_SUCCESS;
}

uint64_t* Attribute(Pool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool.release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return &pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return &pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.used_high;
    default:
      return nullptr;
  }
}

bool IsReusePolicy(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace

VGPU_STREAM_EXPORT(cuMemAllocAsync, _ptsz, (CUdeviceptr * address, size_t bytes, CUstream stream),
                   AllocateAsync(address, bytes, nullptr, stream, kDefault))
VGPU_STREAM_EXPORT(cuMemAllocFromPoolAsync, _ptsz,
                   (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
                   AllocateAsync(address, bytes, pool, stream, kDefault))
VGPU_STREAM_EXPORT(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream),
                   FreeAsync(address, stream, kDefault))

VGPU_EXPORT cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return DevicePool(pool, device, false);
}
VGPU_EXPORT cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return DevicePool(pool, device, true);
}

VGPU_EXPORT cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  VGPU_ENTER(call);
  Pool* pool = call.machine.pools.Find(handle);
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!pool || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  call.machine.current_pools[static_cast<size_t>(device)] = pool;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  VGPU_ENTER(call);
  if (!pool || !props || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(props->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  auto made = std::make_unique<Pool>();
  made->device = props->location.id;
  made->exportable = props->handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  *pool = reinterpret_cast<CUmemoryPool>(call.machine.pools.Add(std::move(made)));
  return CUDA_SUCCESS;
}

// Live allocations of a destroyed pool stay valid: the pool lives on without its handle's being
// usable is more than the driver promises, so a pool in use is refused.
VGPU_EXPORT cuMemPoolDestroy(CUmemoryPool handle) {
  VGPU_ENTER(call);
  Pool* pool = call.machine.pools.Find(handle);
  if (!pool || pool->is_default || pool->used) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = *call.machine.memory;
  std::vector<OpPtr> frees;
  for (const FreeRange& range : pool->ranges) {
    if (range.freed) frees.push_back(range.freed);
  }
  if (const CUresult error = call.Wait(frees)) return error;
  for (const FreeRange& range : pool->ranges)
    memory.device(pool->device).Give(range.base, range.reserved);
  for (Pool*& current : call.machine.current_pools) {
    if (current == pool) current = call.machine.default_pools[static_cast<size_t>(pool->device)];
  }
  if (pool->imported >= 0) close(pool->imported);
  call.machine.pools.Remove(pool);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  VGPU_ENTER(call);
  return call.machine.pools.Find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VGPU_EXPORT cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  VGPU_ENTER(call);
  Pool* pool = call.machine.pools.Find(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  if (IsReusePolicy(attribute)) {
    *static_cast<int*>(value) = 1;
    return CUDA_SUCCESS;
  }
  const uint64_t* number = Attribute(*pool, attribute);
  if (number) *static_cast<cuuint64_t*>(value) = *number;
  return number ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VGPU_EXPORT cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  VGPU_ENTER(call);
  Pool* pool = call.machine.pools.Find(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  if (IsReusePolicy(attribute))
    return *static_cast<int*>(value) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return CUDA_ERROR_NOT_SUPPORTED;
  pool->release_threshold = *static_cast<cuuint64_t*>(value);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc*, size_t) {
  VGPU_ENTER(call);
  return call.machine.pools.Find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
