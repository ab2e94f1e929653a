// A driver that only answers: enough of libcuda to see that arguments, results and lookups pass
// unharmed, and launches that do nothing, so that what is measured on them is the capture library
// alone.
#include <cuda.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// The names that cuda.h gives to newer forms are macros; here they are the exports themselves.
#undef cuStreamBeginCapture

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
CUresult Unexported(CUevent) { return CUDA_SUCCESS; }
CUresult Newer(CUevent, int) { return CUDA_SUCCESS; }
bool g_up;
bool g_capturing;
CUmodule g_returned;
}  // namespace

EXPORT CUresult cuInit(unsigned) {
  g_up = true;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = nullptr;
  return g_up ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
EXPORT CUresult cuStreamQuery(CUstream) { return CUDA_SUCCESS; }
EXPORT CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }

EXPORT CUresult cuMemDiscardBatchAsync_ptsz(size_t a, size_t b, size_t c, size_t d, size_t e,
                                            size_t f, size_t g, size_t h, size_t i) {
  return static_cast<CUresult>(
      ((((((a * 10 + b) * 10 + c) * 10 + d) * 10 + e) * 10 + f) * 10 + g) * 100 + h * 10 + i);
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(0x100);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
EXPORT CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }
EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(0x200);
  return CUDA_SUCCESS;
}

// Takes everything for machine code but what begins with FAIL. A handle that was given back comes
// again.
EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  char start[4] = {};
  iovec local{start, sizeof start};
  iovec remote{const_cast<void*>(image), sizeof start};
  bool read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof start;
  if (read && memcmp(start, "FAIL", sizeof start) == 0) return CUDA_ERROR_INVALID_IMAGE;
  static uint64_t next = 0x400;
  *module = g_returned ? g_returned : reinterpret_cast<CUmodule>(next += 16);
  g_returned = nullptr;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*,
                                   void**) {
  return cuModuleLoadData(module, image);
}
EXPORT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadData(module, image);
}
EXPORT CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return cuModuleLoadData(module, path);
}
EXPORT CUresult cuModuleUnload(CUmodule module) {
  g_returned = module;
  return CUDA_SUCCESS;
}
#undef cuModuleGetGlobal
EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule,
                                     const char* name) {
  if (strcmp(name, "missing") == 0) return CUDA_ERROR_NOT_FOUND;
  *address = 0x7f0012345600;  // both are there: whoever asks for one of them only is helped out
  *bytes = 96;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary, const char*) {
  *address = 0x7f0012346600;
  *bytes = 32;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**,
                                  unsigned, CUlibraryOption*, void**, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), image);
}
EXPORT CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                                      unsigned, CUlibraryOption*, void**, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), path);
}

// Tensor maps: the address, then what tells one from another.
struct FakeMap {
  void* address;
  uint64_t type;
  uint64_t rank;
};
CUresult Encode(CUtensorMap* map, CUtensorMapDataType type, unsigned rank, void* address) {
  FakeMap fake{address, type, rank};
  memcpy(map, &fake, sizeof fake);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                       void* address, const cuuint64_t*, const cuuint64_t*,
                                       const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                       CUtensorMapSwizzle, CUtensorMapL2promotion,
                                       CUtensorMapFloatOOBfill) {
  return Encode(map, type, rank, address);
}
EXPORT CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                        void* address, const cuuint64_t*, const cuuint64_t*,
                                        const int*, const int*, cuuint32_t, cuuint32_t,
                                        const cuuint32_t*, CUtensorMapInterleave,
                                        CUtensorMapSwizzle, CUtensorMapL2promotion,
                                        CUtensorMapFloatOOBfill) {
  return Encode(map, type, rank, address);
}
EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  *function = reinterpret_cast<CUfunction>(0x300);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                   size_t* size) {
  if (function != reinterpret_cast<CUfunction>(0x300)) return CUDA_ERROR_INVALID_HANDLE;
  *offset = 8 * index;
  *size = 8;
  return index < 10 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  static CUdeviceptr next = 0x7f0000000000;
  *address = next;
  next += bytes;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}

// Capture: stream 0x200 alone can.
EXPORT CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  g_capturing = true;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamEndCapture(CUstream, CUgraph*) {
  g_capturing = false;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  bool capturing = g_capturing && stream == reinterpret_cast<CUstream>(0x200);
  *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
// Runs it twice at once: a graph would run it at each launch, so what stands in for it must stay.
EXPORT CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* data) {
  function(data);
  function(data);
  return CUDA_SUCCESS;
}

// Streams as a driver exports them; events through entry points that it does not export, the newest
// form of which this tool cannot know.
#undef cuGetProcAddress
EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t,
                                    CUdriverProcAddressQueryResult*) {
  *function = nullptr;
  if (!strcmp(name, "cuStreamQuery")) *function = reinterpret_cast<void*>(cuStreamQuery);
  if (!strcmp(name, "cuEventQuery")) {
    *function =
        version >= 99000 ? reinterpret_cast<void*>(Newer) : reinterpret_cast<void*>(Unexported);
  }
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
