// Shareable handles: of mapped memory and of pools, and the pointers of those (rule 8).
#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/label.h"
#include "src/capture/sharing.h"
#include "src/capture/word_map.h"

namespace ss::capture {
namespace {

// What a handle's or a pool's label is, of those that were shared.
WordMap g_handles, g_pools;

template <class Pointer>
uint64_t Id(Pointer pointer) {
  return (uint64_t)pointer;
}

// The same one however often it is given away.
uint64_t Keep(WordMap& map, uint64_t object, CUmemAllocationHandleType type,
              const void* shareable) {
  const uint64_t known = map.Get(object);
  const uint64_t label = PutLabel(type, shareable, known != 0 ? known : NewLabel());
  map.Set(object, label);
  return label;
}

// A pool's pointer is so much of that pool.
struct PoolPointer {
  uint64_t pool;
  CUmemPoolPtrExportData data;
};

uint64_t PoolOf(CUdeviceptr address) {
  CUmemoryPool pool = nullptr;
  const Driver& driver = TheDriver();
  if (!driver.pointer_get_attribute) return 0;
  if (driver.pointer_get_attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) !=
      CUDA_SUCCESS) {
    return 0;
  }
  return Id(pool);
}

}  // namespace

bool InitShareable() { return g_handles.Init(16) && g_pools.Init(12); }

// A value that was another handle's before is nobody's yet.
CUresult MemCreate(Call& call, CUmemGenericAllocationHandle* handle, size_t bytes,
                   const CUmemAllocationProp* properties, unsigned long long flags) {
  const CUresult result = call.Forward(handle, bytes, properties, flags);
  if (result != CUDA_SUCCESS || g_handles.Get(*handle) == 0) return result;
  g_handles.Set(*handle, 0);
  Share(call, true, kSharedMapping, false, *handle, nullptr, 0, 0);
  return result;
}

CUresult MemExport(Call& call, void* shareable, CUmemGenericAllocationHandle handle,
                   CUmemAllocationHandleType type, unsigned long long flags) {
  const bool shares = Shares(call);
  const uint64_t stack = call.Stack();
  const CUresult result = call.Forward(shareable, handle, type, flags);
  if (result != CUDA_SUCCESS || !shares) return result;
  const uint64_t label = Keep(g_handles, handle, type, shareable);
  Share(call, shares, kSharedMapping, false, handle, &label, sizeof label, stack);
  return result;
}

CUresult MemImport(Call& call, CUmemGenericAllocationHandle* handle, void* shareable,
                   CUmemAllocationHandleType type) {
  const bool shares = Shares(call);
  const uint64_t stack = call.Stack();
  const CUresult result = call.Forward(handle, shareable, type);
  if (result != CUDA_SUCCESS || !shares) return result;
  const uint64_t label = LabelOf(type, shareable);
  g_handles.Set(*handle, label != 0 ? label : NewLabel());
  Share(call, shares, kSharedMapping, true, *handle, &label, label != 0 ? sizeof label : 0, stack);
  return result;
}

CUresult MemPoolExport(Call& call, void* shareable, CUmemoryPool pool,
                       CUmemAllocationHandleType type, unsigned long long flags) {
  const bool shares = Shares(call);
  const CUresult result = call.Forward(shareable, pool, type, flags);
  if (result == CUDA_SUCCESS && shares) Keep(g_pools, Id(pool), type, shareable);
  return result;
}

CUresult MemPoolImport(Call& call, CUmemoryPool* pool, void* shareable,
                       CUmemAllocationHandleType type, unsigned long long flags) {
  const bool shares = Shares(call);
  const CUresult result = call.Forward(pool, shareable, type, flags);
  if (result == CUDA_SUCCESS && shares) g_pools.Set(Id(*pool), LabelOf(type, shareable));
  return result;
}

CUresult MemPoolExportPointer(Call& call, CUmemPoolPtrExportData* data, CUdeviceptr address) {
  const bool shares = Shares(call);
  const uint64_t stack = call.Stack();
  const CUresult result = call.Forward(data, address);
  if (result != CUDA_SUCCESS || !shares) return result;
  const uint64_t pool = PoolOf(address);
  g_pools.Insert(pool, NewLabel());  // may be given away later
  const PoolPointer pointer{g_pools.Get(pool), *data};
  Share(call, shares, kSharedMemory, false, address, &pointer, sizeof pointer, stack);
  return result;
}

CUresult MemPoolImportPointer(Call& call, CUdeviceptr* address, CUmemoryPool pool,
                              CUmemPoolPtrExportData* data) {
  const bool shares = Shares(call);
  const uint64_t stack = call.Stack();
  const CUresult result = call.Forward(address, pool, data);
  if (result != CUDA_SUCCESS) return result;
  const PoolPointer pointer{g_pools.Get(Id(pool)), *data};
  Opened(call, shares, *address, stack);
  Share(call, shares, kSharedMemory, true, *address, &pointer,
        pointer.pool != 0 ? sizeof pointer : 0, stack);
  return result;
}

}  // namespace ss::capture
