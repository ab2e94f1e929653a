// cuInit, devices, errors.
#include <cstdio>
#include <cstring>

#include "api.h"
#include "generated.h"

using namespace ss::vgpu;

VGPU_EXPORT cuInit(unsigned int flags) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (Forked()) return CUDA_ERROR_NOT_INITIALIZED;
  Machine::Get().Start();
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuGetErrorName(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const GeneratedError* found = FindError(error);
  *text = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VGPU_EXPORT cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const GeneratedError* found = FindError(error);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

VGPU_EXPORT cuDeviceGet(CUdevice* device, int ordinal) {
  VGPU_ENTER(call);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDeviceGetCount(int* count) {
  VGPU_ENTER(call);
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(options().devices);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDeviceGetName(char* name, int length, CUdevice device) {
  VGPU_ENTER(call);
  if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<size_t>(length), "Virtual GPU");
  return CUDA_SUCCESS;
}

static CUresult Uuid(CUuuid* uuid, CUdevice device) {
  VGPU_ENTER(call);
  if (!uuid) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid, 0, sizeof *uuid);
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "vgpu%d", device);
  return CUDA_SUCCESS;
}
#undef cuDeviceGetUuid
VGPU_EXPORT cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return Uuid(uuid, device); }
VGPU_EXPORT cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) { return Uuid(uuid, device); }

VGPU_EXPORT cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  VGPU_ENTER(call);
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = call.machine.memory->device(device).bytes();
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  VGPU_ENTER(call);
  if (!id || length < 13) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(id, static_cast<size_t>(length), "0000:%02X:00.0", device + 1);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  VGPU_ENTER(call);
  if (!can) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device) || !ValidDevice(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer;
  return CUDA_SUCCESS;
}

// One address space for all devices: peers are always reachable.
VGPU_EXPORT cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  VGPU_ENTER_CONTEXT(call);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  return call.machine.contexts.Find(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

VGPU_EXPORT cuCtxDisablePeerAccess(CUcontext peer) {
  VGPU_ENTER_CONTEXT(call);
  return call.machine.contexts.Find(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static int Attribute(CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 2;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device + 1;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      return 1;
    default:
      return 0;
  }
}

VGPU_EXPORT cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  VGPU_ENTER(call);
  if (!value || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = Attribute(attribute, device);
  return CUDA_SUCCESS;
}
