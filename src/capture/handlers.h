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
CUresult GreenCtxStreamCreate(Call&, CUstream* stream, void* green, unsigned flags, int priority);
CUresult StreamDestroy(Call&, CUstream stream);
CUresult StreamSynchronize(Call&, CUstream stream);
CUresult StreamQuery(Call&, CUstream stream);
CUresult StreamWaitEvent(Call&, CUstream stream, CUevent event, unsigned flags);

// green.cc
CUresult GreenCtxCreate(Call&, void** green, void* resources, CUdevice device, unsigned flags);
CUresult GreenCtxDestroy(Call&, void* green);
CUresult CtxRecordEvent(Call&, CUcontext context, CUevent event);
CUresult CtxWaitEvent(Call&, CUcontext context, CUevent event);
CUresult GreenCtxRecordEvent(Call&, void* green, CUevent event);
CUresult GreenCtxWaitEvent(Call&, void* green, CUevent event);

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
CUresult MemcpyBatch(Call&, CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                     CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                     size_t* failed, CUstream stream);
CUresult Memcpy3DBatch(Call&, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed,
                       unsigned long long flags, CUstream stream);
CUresult Memcpy3DBatch2(Call&, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                        unsigned long long flags, CUstream stream);
CUresult MemcpyBatch2(Call&, CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                      CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                      CUstream stream);
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
CUresult LibraryGetGlobal(Call&, CUdeviceptr* address, size_t* bytes, CUlibrary library,
                          const char* name);
CUresult LibraryGetManaged(Call&, CUdeviceptr* address, size_t* bytes, CUlibrary library,
                           const char* name);
CUresult ModuleGetGlobal(Call&, CUdeviceptr* address, size_t* bytes, CUmodule module,
                         const char* name);
CUresult MemAllocAsync(Call&, CUdeviceptr* address, size_t bytes, CUstream stream);
CUresult MemAllocFromPoolAsync(Call&, CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                               CUstream stream);
CUresult MemFreeAsync(Call&, CUdeviceptr address, CUstream stream);

// graph.cc
CUresult GraphCreate(Call&, CUgraph* graph, unsigned flags);
CUresult GraphDestroy(Call&, CUgraph graph);
CUresult GraphDestroyNode(Call&, CUgraphNode node);
CUresult GraphAddDependencies(Call&, CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                              size_t count);
CUresult GraphAddDependenciesData(Call&, CUgraph graph, const CUgraphNode* from,
                                  const CUgraphNode* to, const void* data, size_t count);
CUresult GraphRemoveDependencies(Call&, CUgraph graph, const CUgraphNode* from,
                                 const CUgraphNode* to, size_t count);
CUresult GraphRemoveDependenciesData(Call&, CUgraph graph, const CUgraphNode* from,
                                     const CUgraphNode* to, const void* data, size_t count);
CUresult GraphClone(Call&, CUgraph* clone, CUgraph graph);
CUresult GraphInstantiateLog(Call&, CUgraphExec* exec, CUgraph graph, CUgraphNode* error, char* log,
                             size_t size);
CUresult GraphInstantiateFlags(Call&, CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CUresult GraphInstantiateParams(Call&, CUgraphExec* exec, CUgraph graph,
                                CUDA_GRAPH_INSTANTIATE_PARAMS* params);
CUresult GraphExecDestroy(Call&, CUgraphExec exec);
CUresult GraphExecUpdate(Call&, CUgraphExec exec, CUgraph graph, CUgraphNode* error, void* update);
CUresult GraphExecUpdateInfo(Call&, CUgraphExec exec, CUgraph graph, void* info);
CUresult GraphLaunch(Call&, CUgraphExec exec, CUstream stream);
CUresult GraphNodeSetEnabled(Call&, CUgraphExec exec, CUgraphNode node, unsigned enabled);
CUresult GraphExecChildSetParams(Call&, CUgraphExec exec, CUgraphNode node, CUgraph child);

// graph_nodes.cc
CUresult GraphAddKernelNode(Call&, CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphAddKernelNode2(Call&, CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t count,
                             const CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult GraphAddMemcpyNode(Call&, CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMCPY3D* copy, CUcontext context);
CUresult GraphAddMemsetNode(Call&, CUgraphNode* node, CUgraph graph,
                            const CUgraphNode* dependencies, size_t count,
                            const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context);
CUresult GraphAddHostNode(Call&, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                          size_t count, const CUDA_HOST_NODE_PARAMS_v1* params);
CUresult GraphAddChildNode(Call&, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           size_t count, CUgraph child);
CUresult GraphAddEmptyNode(Call&, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           size_t count);
CUresult GraphAddEventRecordNode(Call&, CUgraphNode* node, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count, CUevent event);
CUresult GraphAddEventWaitNode(Call&, CUgraphNode* node, CUgraph graph,
                               const CUgraphNode* dependencies, size_t count, CUevent event);
CUresult GraphAddBatchMemOpNode(Call&, CUgraphNode* node, CUgraph graph,
                                const CUgraphNode* dependencies, size_t count,
                                const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params);
CUresult GraphAddMemAllocNode(Call&, CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t count,
                              CUDA_MEM_ALLOC_NODE_PARAMS_v1* params);
CUresult GraphAddMemFreeNode(Call&, CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t count, CUdeviceptr address);
CUresult GraphAddNode(Call&, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                      size_t count, CUgraphNodeParams* params);
CUresult GraphAddNodeData(Call&, CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                          const void* data, size_t count, CUgraphNodeParams* params);
CUresult GraphKernelSetParams(Call&, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphKernelSetParams2(Call&, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult GraphMemcpySetParams(Call&, CUgraphNode node, const CUDA_MEMCPY3D* copy);
CUresult GraphMemsetSetParams(Call&, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1* params);
CUresult GraphHostSetParams(Call&, CUgraphNode node, const CUDA_HOST_NODE_PARAMS_v1* params);
CUresult GraphHostGetParams(Call&, CUgraphNode node, CUDA_HOST_NODE_PARAMS_v1* params);
CUresult GraphEventRecordSet(Call&, CUgraphNode node, CUevent event);
CUresult GraphEventWaitSet(Call&, CUgraphNode node, CUevent event);
CUresult GraphBatchMemOpSet(Call&, CUgraphNode node,
                            const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params);
CUresult GraphNodeSetParams(Call&, CUgraphNode node, CUgraphNodeParams* params);
CUresult GraphExecKernelSetParams(Call&, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphExecKernelSetParams2(Call&, CUgraphExec exec, CUgraphNode node,
                                   const CUDA_KERNEL_NODE_PARAMS_v2* params);
CUresult GraphExecMemcpySetParams(Call&, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_MEMCPY3D* copy, CUcontext context);
CUresult GraphExecMemsetSetParams(Call&, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_MEMSET_NODE_PARAMS_v1* params, CUcontext context);
CUresult GraphExecHostSetParams(Call&, CUgraphExec exec, CUgraphNode node,
                                const CUDA_HOST_NODE_PARAMS_v1* params);
CUresult GraphExecEventRecordSet(Call&, CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult GraphExecEventWaitSet(Call&, CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult GraphExecBatchMemOpSet(Call&, CUgraphExec exec, CUgraphNode node,
                                const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params);
CUresult GraphExecNodeSetParams(Call&, CUgraphExec exec, CUgraphNode node,
                                CUgraphNodeParams* params);

// capture_graph.cc
CUresult CaptureBegin(Call&, CUstream stream);
CUresult CaptureBeginMode(Call&, CUstream stream, CUstreamCaptureMode mode);
CUresult CaptureBeginToGraph(Call&, CUstream stream, CUgraph graph, const void* dependencies,
                             const void* data, size_t count, CUstreamCaptureMode mode);
CUresult CaptureEnd(Call&, CUstream stream, CUgraph* graph);
CUresult CaptureDepend(Call&, CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags);
CUresult CaptureDependData(Call&, CUstream stream, CUgraphNode* nodes, const void* data,
                           size_t count, unsigned flags);

// memop.cc
CUresult StreamWriteValue32(Call&, CUstream stream, CUdeviceptr address, cuuint32_t value,
                            unsigned flags);
CUresult StreamWriteValue64(Call&, CUstream stream, CUdeviceptr address, cuuint64_t value,
                            unsigned flags);
CUresult StreamWaitValue32(Call&, CUstream stream, CUdeviceptr address, cuuint32_t value,
                           unsigned flags);
CUresult StreamWaitValue64(Call&, CUstream stream, CUdeviceptr address, cuuint64_t value,
                           unsigned flags);
CUresult StreamBatchMemOp(Call&, CUstream stream, unsigned count,
                          CUstreamBatchMemOpParams* operations, unsigned flags);

// shared.cc
CUresult MemMap(Call&, CUdeviceptr address, size_t bytes, size_t offset, unsigned long long handle,
                unsigned long long flags);
CUresult MemUnmap(Call&, CUdeviceptr address, size_t bytes);
CUresult IpcGetMemHandle(Call&, CUipcMemHandle* handle, CUdeviceptr address);
CUresult IpcOpenMemHandle(Call&, CUdeviceptr* address, CUipcMemHandle handle, unsigned flags);
CUresult IpcCloseMemHandle(Call&, CUdeviceptr address);
CUresult IpcGetEventHandle(Call&, CUipcEventHandle* handle, CUevent event);
CUresult IpcOpenEventHandle(Call&, CUevent* event, CUipcEventHandle handle);

// shareable.cc
bool InitShareable();
CUresult MemCreate(Call&, CUmemGenericAllocationHandle* handle, size_t bytes,
                   const CUmemAllocationProp* properties, unsigned long long flags);
CUresult MemExport(Call&, void* shareable, CUmemGenericAllocationHandle handle,
                   CUmemAllocationHandleType type, unsigned long long flags);
CUresult MemImport(Call&, CUmemGenericAllocationHandle* handle, void* shareable,
                   CUmemAllocationHandleType type);
CUresult MemPoolExport(Call&, void* shareable, CUmemoryPool pool, CUmemAllocationHandleType type,
                       unsigned long long flags);
CUresult MemPoolImport(Call&, CUmemoryPool* pool, void* shareable, CUmemAllocationHandleType type,
                       unsigned long long flags);
CUresult MemPoolExportPointer(Call&, CUmemPoolPtrExportData* data, CUdeviceptr address);
CUresult MemPoolImportPointer(Call&, CUdeviceptr* address, CUmemoryPool pool,
                              CUmemPoolPtrExportData* data);

}  // namespace ss::capture
