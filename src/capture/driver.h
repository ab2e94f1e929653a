// The real driver: its functions, found late and without going through our own dlsym.
#pragma once

#include <cuda.h>

#include "src/capture/hook_table.h"

namespace ss::capture {

void* RealDlsym(void* handle, const char* name);
void* RealDlvsym(void* handle, const char* name, const char* version);

// True once libcuda.so.1 is in the process. Loads nothing.
bool DriverLoaded();
bool DriverExports(const char* symbol);
// True where `function` lies in an image called libcuda.so*.
bool InDriver(const void* function);
// By name, loading libcuda.so.1 when it must; null where there is no driver or no such function.
void* DriverFunction(const char* symbol);

// The function behind a row; never null: where the driver lacks it, one that returns
// CUDA_ERROR_NOT_FOUND, which is all that a missing driver can say by then. HasReal: not that one.
void* Real(int hook);
bool HasReal(int hook);
// The program found the row's function by itself; the first one found stays.
void SetReal(int hook, void* function);

// What the handlers ask the driver for besides the hooked functions. Null where it is too old.
struct Driver {
  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*ctx_push_current)(CUcontext);
  CUresult (*ctx_pop_current)(CUcontext*);
  CUresult (*primary_ctx_get_state)(CUdevice, unsigned*, int*);
  CUresult (*primary_ctx_retain)(CUcontext*, CUdevice);
  CUresult (*primary_ctx_release)(CUdevice);
  CUresult (*ctx_from_green_ctx)(CUcontext*, void*);
  CUresult (*driver_get_version)(int*);
  CUresult (*stream_get_ctx)(CUstream, CUcontext*);
  CUresult (*stream_get_flags)(CUstream, unsigned*);
  CUresult (*capture_info_v3)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                              const CUgraphNode**, const void**, size_t*);
  CUresult (*capture_info_v2)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                              const CUgraphNode**, size_t*);
  CUresult (*get_address_range)(CUdeviceptr*, size_t*, CUdeviceptr);
  CUresult (*pointer_get_attribute)(void*, CUpointer_attribute, CUdeviceptr);
  CUresult (*graph_get_nodes)(CUgraph, CUgraphNode*, size_t*);
  CUresult (*graph_find_in_clone)(CUgraphNode*, CUgraphNode, CUgraph);
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*);
  CUresult (*func_get_name)(const char**, CUfunction);
  CUresult (*func_get_module)(CUmodule*, CUfunction);
  CUresult (*func_get_param_info)(CUfunction, size_t, size_t*, size_t*);
  CUresult (*kernel_get_library)(void**, CUfunction);
  CUresult (*library_get_kernel_count)(unsigned*, void*);
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*kernel_get_name)(const char**, CUfunction);
  CUresult (*kernel_get_param_info)(CUfunction, size_t, size_t*, size_t*);
  CUresult (*mem_host_register)(void*, size_t, unsigned);
  CUresult (*mem_host_get_device_pointer)(CUdeviceptr*, void*, unsigned);
  CUresult (*thread_exchange_capture_mode)(CUstreamCaptureMode*);
  CUresult (*stream_wait_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  CUresult (*stream_write_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
};
const Driver& TheDriver();

}  // namespace ss::capture
