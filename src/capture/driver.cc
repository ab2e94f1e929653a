#include "src/capture/driver.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "src/capture/elf_lookup.h"

namespace ss::capture {
namespace {

std::atomic<void*> g_real[kHooks];
Driver g_driver;
std::atomic<bool> g_driver_ready;

CUresult Missing() { return CUDA_ERROR_NOT_FOUND; }
void* NoLookup() { return nullptr; }

// Read from the image: dlsym would leave an error message behind for the program to find.
void* InDriverImage(const char* symbol) { return FindInImage("libcuda.so", symbol); }

template <class F>
void Find(F& slot, const char* symbol) {
  slot = reinterpret_cast<F>(DriverFunction(symbol));
}

}  // namespace

extern "C" {
[[gnu::visibility("hidden")]] void* ss_real_dlsym;
[[gnu::visibility("hidden")]] void* ss_real_dlvsym;

// glibc 2.34 moved both from libdl into libc and left empty shells behind, hence the order.
[[gnu::visibility("hidden")]] void ss_find_real_dlsym() {
  auto find = [](const char* name) {
    void* function = FindInImage("libc.so", name);
    if (!function) function = FindInImage("libdl.so", name);
    return function ? function : reinterpret_cast<void*>(NoLookup);
  };
  ss_real_dlvsym = find("dlvsym");
  ss_real_dlsym = find("dlsym");
}
}

void* RealDlsym(void* handle, const char* name) {
  if (!ss_real_dlsym) ss_find_real_dlsym();
  return reinterpret_cast<void* (*)(void*, const char*)>(ss_real_dlsym)(handle, name);
}

void* RealDlvsym(void* handle, const char* name, const char* version) {
  using Lookup = void* (*)(void*, const char*, const char*);
  if (!ss_real_dlvsym) ss_find_real_dlsym();
  return reinterpret_cast<Lookup>(ss_real_dlvsym)(handle, name, version);
}

bool DriverExports(const char* symbol) { return InDriverImage(symbol) != nullptr; }

// Asked at every allocation of a framework's pool, and a process may have hundreds of libraries to
// look through. A driver that is loaded stays: its functions are kept as well.
bool DriverLoaded() {
  static std::atomic<bool> loaded{false};
  if (loaded.load(std::memory_order_relaxed)) return true;
  bool now = DriverExports("cuInit");
  if (now) loaded.store(true, std::memory_order_relaxed);
  return now;
}

bool InDriver(const void* function) {
  Dl_info info;
  if (!function || !dladdr(function, &info) || !info.dli_fname) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* file = slash ? slash + 1 : info.dli_fname;
  return strncmp(file, "libcuda.so", strlen("libcuda.so")) == 0;
}

void* DriverFunction(const char* symbol) {
  void* function = InDriverImage(symbol);
  if (function || DriverLoaded()) return function;
  dlopen("libcuda.so.1", RTLD_LAZY);
  return InDriverImage(symbol);
}

void* Real(int hook) {
  void* function = g_real[hook].load(std::memory_order_acquire);
  if (function) return function;
  function = DriverFunction(kHookRows[hook].symbol);
  if (!function) return reinterpret_cast<void*>(Missing);
  SetReal(hook, function);
  return function;
}

bool HasReal(int hook) { return g_real[hook].load(std::memory_order_acquire) != nullptr; }

void SetReal(int hook, void* function) {
  void* none = nullptr;
  g_real[hook].compare_exchange_strong(none, function, std::memory_order_acq_rel);
}

const Driver& TheDriver() {
  if (g_driver_ready.load(std::memory_order_acquire)) return g_driver;
  Driver found{};  // several threads may do this at once: they find the same
  Find(found.ctx_get_current, "cuCtxGetCurrent");
  Find(found.ctx_get_device, "cuCtxGetDevice");
  Find(found.ctx_push_current, "cuCtxPushCurrent_v2");
  Find(found.ctx_pop_current, "cuCtxPopCurrent_v2");
  Find(found.primary_ctx_get_state, "cuDevicePrimaryCtxGetState");
  Find(found.primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  Find(found.primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  Find(found.ctx_from_green_ctx, "cuCtxFromGreenCtx");
  Find(found.driver_get_version, "cuDriverGetVersion");
  Find(found.stream_get_ctx, "cuStreamGetCtx");
  Find(found.stream_get_flags, "cuStreamGetFlags");
  Find(found.capture_info_v3, "cuStreamGetCaptureInfo_v3");
  Find(found.capture_info_v2, "cuStreamGetCaptureInfo_v2");
  Find(found.get_address_range, "cuMemGetAddressRange_v2");
  Find(found.pointer_get_attribute, "cuPointerGetAttribute");
  Find(found.graph_get_nodes, "cuGraphGetNodes");
  Find(found.graph_find_in_clone, "cuGraphNodeFindInClone");
  Find(found.stream_is_capturing, "cuStreamIsCapturing");
  Find(found.func_get_name, "cuFuncGetName");
  Find(found.func_get_module, "cuFuncGetModule");
  Find(found.func_get_param_info, "cuFuncGetParamInfo");
  Find(found.kernel_get_library, "cuKernelGetLibrary");
  Find(found.library_get_kernel_count, "cuLibraryGetKernelCount");
  Find(found.device_get_attribute, "cuDeviceGetAttribute");
  Find(found.kernel_get_name, "cuKernelGetName");
  Find(found.kernel_get_param_info, "cuKernelGetParamInfo");
  Find(found.mem_host_register, "cuMemHostRegister_v2");
  Find(found.mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2");
  Find(found.thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  Find(found.stream_wait_value, "cuStreamWaitValue32_v2");
  Find(found.stream_write_value, "cuStreamWriteValue32_v2");
  if (!found.ctx_get_current) return g_driver;  // no driver yet: look again next time
  g_driver = found;
  g_driver_ready.store(true, std::memory_order_release);
  return g_driver;
}

}  // namespace ss::capture
