// How a program gets at the driver besides linking it: dlsym, dlvsym (the entry points are in stubs.S)
// and cuGetProcAddress. Whatever lookup finds a function of hooks.def gives out our stub for it.
#include <dlfcn.h>

#include "src/capture/call.h"
#include "src/capture/driver.h"
#include "src/capture/handlers.h"

namespace ss::capture {
namespace {

// A library may export a function of the driver's name for purposes of its own: only the driver's is ours.
void* Redirect(const char* name, void* found) {
  if (!found || IsStub(found)) return found;
  int hook = FindHook(name);
  if (hook == kNoHook || !InDriver(found)) return found;
  SetReal(hook, found);
  return Stub(hook);
}

// The row whose function the driver gave out. By name and version first: rows may share one address.
int HookOf(const char* base, int version, bool per_thread, void* given) {
  int hook = FindHook(base, version, per_thread);
  if (hook == kNoHook || Real(hook) == given) return hook;
  for (int i = 0; i < kHooks; ++i) {
    if (__builtin_strcmp(kHookRows[i].base, base) == 0 && Real(i) == given) return i;
  }
  return hook;
}

void RedirectProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  if (!name || !function || !*function || IsStub(*function)) return;
  bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  int hook = HookOf(name, version, per_thread, *function);
  if (hook == kNoHook) hook = FindHook(name);  // asked for with its suffix
  if (hook == kNoHook) return;
  SetReal(hook, *function);
  *function = Stub(hook);
}

}  // namespace

CUresult GetProcAddress(RawCall& call, const char* name, void** function, int version,
                        cuuint64_t flags) {
  CUresult result = call.Plain(name, function, version, flags);
  if (result == CUDA_SUCCESS) RedirectProcAddress(name, function, version, flags);
  return result;
}

CUresult GetProcAddress2(RawCall& call, const char* name, void** function, int version,
                         cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  CUresult result = call.Plain(name, function, version, flags, status);
  if (result == CUDA_SUCCESS) RedirectProcAddress(name, function, version, flags);
  return result;
}

extern "C" {

[[gnu::visibility("hidden")]] void* ss_dlsym_driver(void* handle, const char* name) {
  return Redirect(name, RealDlsym(handle, name));
}

[[gnu::visibility("hidden")]] void* ss_dlvsym_driver(void* handle, const char* name,
                                                     const char* version) {
  return Redirect(name, RealDlvsym(handle, name, version));
}

// Our own export would make a program believe in a driver that is not there.
[[gnu::visibility("hidden")]] int ss_absent_by_default(const char* name) {
  return FindHook(name) != kNoHook && !DriverLoaded();
}

// Where a counted stub goes. Stays unresolved when the driver lacks the function: it may be loaded later.
[[gnu::visibility("hidden")]] void* ss_resolve(uint32_t hook) {
  void* function = Real(static_cast<int>(hook));
  if (HasReal(static_cast<int>(hook))) __atomic_store_n(&ss_entries[hook], function, __ATOMIC_RELEASE);
  return function;
}
}

}  // namespace ss::capture
