// One handler per row of hooks.def that is MODELLED. Signatures are cuda.h's behind the Call;
// parameters that only newer headers can spell are void*.
#pragma once

#include <cuda.h>

namespace ss::capture {

struct RawCall;
struct Call;

// interpose.cc, context.cc
CUresult GetProcAddress(RawCall&, const char* name, void** function, int version, cuuint64_t flags);
CUresult GetProcAddress2(RawCall&, const char* name, void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status);
CUresult Init(RawCall&, unsigned flags);
CUresult CtxCreate(Call&, CUcontext* context, unsigned flags, CUdevice device);
CUresult CtxCreateAffinity(Call&, CUcontext* context, void* affinity, int count, unsigned flags,
                           CUdevice device);
CUresult CtxCreateParams(Call&, CUcontext* context, void* params, unsigned flags, CUdevice device);
CUresult CtxDestroy(Call&, CUcontext context);
CUresult CtxSynchronize(Call&);
CUresult CtxSynchronizeOf(Call&, CUcontext context);
CUresult PrimaryCtxRetain(Call&, CUcontext* context, CUdevice device);
CUresult PrimaryCtxDrop(Call&, CUdevice device);

// module.cc
CUresult ModuleLoad(Call&, CUmodule* module, const char* path);
CUresult ModuleLoadData(Call&, CUmodule* module, const void* image);
CUresult ModuleLoadDataEx(Call&, CUmodule* module, const void* image, unsigned count,
                          CUjit_option* options, void** values);
CUresult LinkComplete(Call&, CUlinkState state, void** image, size_t* bytes);
CUresult LibraryLoadData(Call&, void** library, const void* image, CUjit_option* jit_options,
                         void** jit_values, unsigned jit_count, void* options, void** values,
                         unsigned count);
CUresult LibraryLoadFromFile(Call&, void** library, const char* path, CUjit_option* jit_options,
                             void** jit_values, unsigned jit_count, void* options, void** values,
                             unsigned count);
CUresult LibraryGetModule(Call&, CUmodule* module, void* library);
CUresult LibraryGetKernel(Call&, void** kernel, void* library, const char* name);
CUresult LibraryEnumerateKernels(Call&, void** kernels, unsigned count, void* library);
CUresult KernelGetFunction(Call&, CUfunction* function, void* kernel);
CUresult ModuleUnload(Call&, CUmodule module);
CUresult LibraryUnload(Call&, void* library);

// tensor_map.cc
CUresult TensorMapEncodeTiled(Call&, void* map, unsigned type, unsigned rank, void* address,
                              const cuuint64_t* dims, const cuuint64_t* strides,
                              const cuuint32_t* box, const cuuint32_t* steps, unsigned interleave,
                              unsigned swizzle, unsigned promotion, unsigned fill);
CUresult TensorMapEncodeIm2col(Call&, void* map, unsigned type, unsigned rank, void* address,
                               const cuuint64_t* dims, const cuuint64_t* strides, const int* lower,
                               const int* upper, unsigned channels, unsigned pixels,
                               const cuuint32_t* steps, unsigned interleave, unsigned swizzle,
                               unsigned promotion, unsigned fill);
CUresult TensorMapEncodeIm2colWide(Call&, void* map, unsigned type, unsigned rank, void* address,
                                   const cuuint64_t* dims, const cuuint64_t* strides, int lower,
                                   int upper, unsigned channels, unsigned pixels,
                                   const cuuint32_t* steps, unsigned interleave, unsigned mode,
                                   unsigned swizzle, unsigned promotion, unsigned fill);
CUresult TensorMapReplaceAddress(Call&, void* map, void* address);
bool InitTensorMaps();
void ResetTensorMaps();  // in a forked child

// stream.cc
CUresult StreamCreate(Call&, CUstream* stream, unsigned flags);
CUresult StreamCreateWithPriority(Call&, CUstream* stream, unsigned flags, int priority);
CUresult StreamDestroy(Call&, CUstream stream);
CUresult StreamSynchronize(Call&, CUstream stream);
CUresult StreamQuery(Call&, CUstream stream);
CUresult StreamWaitEvent(Call&, CUstream stream, CUevent event, unsigned flags);
CUresult CaptureBegin(Call&, CUstream stream);
CUresult CaptureBeginMode(Call&, CUstream stream, CUstreamCaptureMode mode);
CUresult CaptureBeginToGraph(Call&, CUstream stream, CUgraph graph, const void* dependencies,
                             const void* data, size_t count, CUstreamCaptureMode mode);
CUresult CaptureEnd(Call&, CUstream stream, CUgraph* graph);

// event.cc
CUresult EventCreate(Call&, CUevent* event, unsigned flags);
CUresult EventDestroy(Call&, CUevent event);
CUresult EventRecord(Call&, CUevent event, CUstream stream);
CUresult EventRecordWithFlags(Call&, CUevent event, CUstream stream, unsigned flags);
CUresult EventQuery(Call&, CUevent event);
CUresult EventSynchronize(Call&, CUevent event);
CUresult EventElapsedTime(Call&, float* milliseconds, CUevent start, CUevent end);

// launch.cc, host_function.cc
CUresult LaunchKernel(Call&, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      CUstream stream, void** params, void** extra);
CUresult LaunchKernelEx(Call&, const CUlaunchConfig* config, CUfunction function, void** params,
                        void** extra);
CUresult LaunchCooperative(Call&, CUfunction function, unsigned grid_x, unsigned grid_y,
                           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared, CUstream stream, void** params);
CUresult LaunchHostFunc(Call&, CUstream stream, CUhostFn function, void* data);
CUresult StreamAddCallback(Call&, CUstream stream, CUstreamCallback callback, void* data,
                           unsigned flags);

// copy.cc
CUresult Memcpy(Call&, CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult MemcpyAsync(Call&, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult MemcpyHtoD(Call&, CUdeviceptr to, const void* from, size_t bytes);
CUresult MemcpyHtoDAsync(Call&, CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
CUresult MemcpyDtoH(Call&, void* to, CUdeviceptr from, size_t bytes);
CUresult MemcpyDtoHAsync(Call&, void* to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult MemcpyDtoD(Call&, CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult MemcpyDtoDAsync(Call&, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult MemcpyPeer(Call&, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                    CUcontext from_context, size_t bytes);
CUresult MemcpyPeerAsync(Call&, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                         CUcontext from_context, size_t bytes, CUstream stream);
CUresult Memcpy2D(Call&, const CUDA_MEMCPY2D* copy);
CUresult Memcpy2DAsync(Call&, const CUDA_MEMCPY2D* copy, CUstream stream);
CUresult Memcpy3D(Call&, const CUDA_MEMCPY3D* copy);
CUresult Memcpy3DAsync(Call&, const CUDA_MEMCPY3D* copy, CUstream stream);
CUresult Memcpy3DPeer(Call&, const CUDA_MEMCPY3D_PEER* copy);
CUresult Memcpy3DPeerAsync(Call&, const CUDA_MEMCPY3D_PEER* copy, CUstream stream);
CUresult MemcpyAtoH(Call&, void* to, CUarray from, size_t offset, size_t bytes);

// memset.cc
CUresult MemsetD8(Call&, CUdeviceptr to, unsigned char value, size_t count);
CUresult MemsetD8Async(Call&, CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CUresult MemsetD16(Call&, CUdeviceptr to, unsigned short value, size_t count);
CUresult MemsetD16Async(Call&, CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CUresult MemsetD32(Call&, CUdeviceptr to, unsigned value, size_t count);
CUresult MemsetD32Async(Call&, CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult MemsetD2D8(Call&, CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                    size_t height);
CUresult MemsetD2D8Async(Call&, CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height, CUstream stream);
CUresult MemsetD2D16(Call&, CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                     size_t height);
CUresult MemsetD2D16Async(Call&, CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                          size_t height, CUstream stream);
CUresult MemsetD2D32(Call&, CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                     size_t height);
CUresult MemsetD2D32Async(Call&, CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                          size_t height, CUstream stream);

// memory.cc
CUresult MemAlloc(Call&, CUdeviceptr* address, size_t bytes);
CUresult MemAllocPitch(Call&, CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                       unsigned element);
CUresult MemFree(Call&, CUdeviceptr address);
CUresult MemAllocHost(Call&, void** address, size_t bytes);
CUresult MemHostAlloc(Call&, void** address, size_t bytes, unsigned flags);
CUresult MemFreeHost(Call&, void* address);
CUresult MemHostRegister(Call&, void* address, size_t bytes, unsigned flags);
CUresult MemHostUnregister(Call&, void* address);
CUresult MemAllocManaged(Call&, CUdeviceptr* address, size_t bytes, unsigned flags);
CUresult MemAllocAsync(Call&, CUdeviceptr* address, size_t bytes, CUstream stream);
CUresult MemAllocFromPoolAsync(Call&, CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                               CUstream stream);
CUresult MemFreeAsync(Call&, CUdeviceptr address, CUstream stream);

// A graph is being captured on this (resolved) stream, so the call just made did not run: it is
// counted, and its caller records nothing.
bool WentIntoGraph(uint64_t stream);
// The same question before a call, uncounted.
bool IsCapturing(uint64_t stream);

}  // namespace ss::capture
