// cuPointerGetAttribute(s).
#include "api.h"

using namespace ss::vgpu;

namespace {

// Writes one attribute; `block` null = not known to the driver, everything is zero.
bool Write(const Block* block, CUdeviceptr address, CUpointer_attribute attribute, void* data) {
  const bool known = block != nullptr;
  const bool host = known && (block->OnHost() || block->kind == MemoryKind::kManaged);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = known && !block->pool ? Handle(block->context) : nullptr;
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) = !known            ? 0
                                      : block->OnHost() ? CU_MEMORYTYPE_HOST
                                                        : CU_MEMORYTYPE_DEVICE;
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = known ? address : 0;
      return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      *static_cast<void**>(data) = host ? reinterpret_cast<void*>(address) : nullptr;
      return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      *static_cast<unsigned long long*>(data) = known ? block->serial : 0;
      return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool*>(data) = known && block->kind == MemoryKind::kManaged;
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<bool*>(data) = known;
      return true;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      *static_cast<bool*>(data) = false;
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = known ? block->device : CU_DEVICE_INVALID;
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(data) = known ? block->base : 0;
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      *static_cast<size_t*>(data) = known ? block->bytes : 0;
      return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(data) =
          reinterpret_cast<CUmemoryPool>(known ? block->pool : nullptr);
      return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<unsigned long long*>(data) = 0;
      return true;
    default:
      return false;
  }
}

}  // namespace

VGPU_EXPORT cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  VGPU_ENTER(call);
  const Block* block = call.machine.memory->Find(address);
  if (!data || !block) return CUDA_ERROR_INVALID_VALUE;
  return Write(block, address, attribute, data) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

// Pointers that the driver does not know are no error here, other than above.
VGPU_EXPORT cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                   CUdeviceptr address) {
  VGPU_ENTER(call);
  if (!count || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
  const Block* block = call.machine.memory->Find(address);
  for (unsigned i = 0; i < count; ++i) {
    if (!Write(block, address, attributes[i], data[i])) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                  CUdeviceptr address) {
  VGPU_ENTER(call);
  if (!value || !call.machine.memory->Find(address)) return CUDA_ERROR_INVALID_VALUE;
  return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_ERROR_NOT_SUPPORTED
                                                       : CUDA_ERROR_INVALID_VALUE;
}
