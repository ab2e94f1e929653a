// How a program gets at the driver besides linking it: dlsym, dlvsym (the entry points are in
// stubs.S) and cuGetProcAddress. Whatever lookup finds a function of hooks.def gives out our stub
// for it.
#include <dlfcn.h>
#include <string.h>

#include "src/capture/call.h"
#include "src/capture/driver.h"
#include "src/capture/handlers.h"
#include "src/capture/nccl.h"

namespace ss::capture {
namespace {

// A library may export a function of the driver's name for purposes of its own: only the driver's
// is ours.
void* Redirect(const char* name, void* found) {
  int nccl = FindNccl(name);
  if (nccl != kNoNcclRow) return RedirectNccl(nccl, found);
  if (!found || IsStub(found)) return found;
  int hook = FindHook(name);
  if (hook == kNoHook || !InDriver(found)) return found;
  SetReal(hook, found);
  return Stub(hook);
}

// The newest CUDA whose functions the table knows; a newer ABI of a function may have other
// parameters.
constexpr int kTableVersion = 13000;

int RowByAddress(const char* base, const void* given) {
  for (int i = 0; i < kHooks; ++i) {
    if (strcmp(kHookRows[i].base, base) == 0 && Real(i) == given) return i;
  }
  return kNoHook;
}

// True when the driver gives the same function to a program built for the table's version.
bool IsOldAbi(const char* base, cuuint64_t flags, const void* given) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  using Query = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  if (!HasReal(kHook_cuGetProcAddress_v2)) return false;
  auto ask = reinterpret_cast<Query>(Real(kHook_cuGetProcAddress_v2));
  return ask(base, &function, kTableVersion, flags, &status) == CUDA_SUCCESS && function == given;
}

// The row whose function the driver gave out. By name and version first, since rows may share an
// address; a driver may also give out entry points that it does not export, then the version must
// decide.
int RowOf(const char* base, int version, cuuint64_t flags, bool per_thread, const void* given) {
  int hook = FindHook(base, version, per_thread);
  if (hook == kNoHook) return kNoHook;
  if (Real(hook) == given) return hook;
  int same = RowByAddress(base, given);
  if (same != kNoHook) return same;
  if (version <= kTableVersion || IsOldAbi(base, flags, given)) return hook;
  CountGap(Gap::kNewerFunction);
  return kNoHook;
}

void RedirectProcAddress(const RawCall& call, const char* name, void** function, int version,
                         cuuint64_t flags) {
  if (!name || !function || !*function || IsStub(*function)) return;
  bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (flags == CU_GET_PROC_ADDRESS_DEFAULT) per_thread = call.per_thread;
  int hook = RowOf(name, version, flags, per_thread, *function);
  if (hook == kNoHook) return;
  SetReal(hook, *function);
  *function = Stub(hook);
}

}  // namespace

CUresult GetProcAddress(RawCall& call, const char* name, void** function, int version,
                        cuuint64_t flags) {
  CUresult result = call.Plain(name, function, version, flags);
  if (result == CUDA_SUCCESS) RedirectProcAddress(call, name, function, version, flags);
  return result;
}

CUresult GetProcAddress2(RawCall& call, const char* name, void** function, int version,
                         cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  CUresult result = call.Plain(name, function, version, flags, status);
  if (result == CUDA_SUCCESS) RedirectProcAddress(call, name, function, version, flags);
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

// Our own export would make a program believe in a function that the driver lacks, or in an NCCL.
[[gnu::visibility("hidden")]] int ss_absent_by_default(const char* name) {
  int nccl = FindNccl(name);
  if (nccl != kNoNcclRow) return NcclAbsent(nccl);
  return FindHook(name) != kNoHook && !DriverExports(name);
}

// Where a counted stub goes. Stays unresolved when the driver lacks the function: it may be loaded
// later.
[[gnu::visibility("hidden")]] void* ss_resolve(uint32_t hook) {
  void* function = Real(static_cast<int>(hook));
  if (HasReal(static_cast<int>(hook)))
    __atomic_store_n(&ss_entries[hook], function, __ATOMIC_RELEASE);
  return function;
}
}

}  // namespace ss::capture
