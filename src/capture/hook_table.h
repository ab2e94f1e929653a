// The rows of hooks.def as data, and how a name or a driver's address leads to a row.
#pragma once

#include <cstdint>

namespace ss::capture {

enum Hook : uint16_t {
#define MODELLED(symbol, base, since, per_thread, handler) kHook_##symbol,
#define COUNTED(symbol, base, since, per_thread, reason) kHook_##symbol,
#include "src/capture/hooks.def"
#undef MODELLED
#undef COUNTED
  kHooks
};
constexpr int kNoHook = -1;

struct HookRow {
  const char* symbol;  // as libcuda exports it
  const char* base;    // as cuGetProcAddress is asked for it
  int since;           // CUDA version of this ABI, as in CUDA_VERSION
  bool per_thread;     // stream handle 0 means the per-thread default stream
  const char* reason;  // null: a handler records it; else what is not modelled
};
extern const HookRow kHookRows[kHooks];

// Row by exported name. Linear: a process asks some hundred times, at its start.
int FindHook(const char* symbol);
// Row by cuGetProcAddress's terms: the newest ABI that is not newer than `version`; the per-thread
// form where it is wanted and exists.
int FindHook(const char* base, int version, bool per_thread);

// The exported function of a row, under an address that no other library can take over.
void* Stub(int hook);
bool IsStub(const void* function);

}  // namespace ss::capture
