#include "src/capture/hook_table.h"

#include <string.h>

extern "C" void* const ss_stubs[];

namespace ss::capture {

const HookRow kHookRows[kHooks] = {
#define MODELLED(symbol, base, since, per_thread, handler) \
  {#symbol, #base, since, static_cast<bool>(per_thread), nullptr},
#define COUNTED(symbol, base, since, per_thread, reason) \
  {#symbol, #base, since, static_cast<bool>(per_thread), reason},
#include "src/capture/hooks.def"
#undef MODELLED
#undef COUNTED
};

int FindHook(const char* symbol) {
  for (int i = 0; i < kHooks; ++i) {
    if (strcmp(kHookRows[i].symbol, symbol) == 0) return i;
  }
  return kNoHook;
}

static int Newest(const char* base, int version, bool per_thread) {
  int best = kNoHook;
  for (int i = 0; i < kHooks; ++i) {
    const HookRow& row = kHookRows[i];
    if (row.per_thread != per_thread || row.since > version || strcmp(row.base, base) != 0)
      continue;
    if (best == kNoHook || row.since > kHookRows[best].since) best = i;
  }
  return best;
}

int FindHook(const char* base, int version, bool per_thread) {
  int plain = Newest(base, version, false);
  int threaded = per_thread ? Newest(base, version, true) : kNoHook;
  return threaded != kNoHook ? threaded : plain;
}

void* Stub(int hook) { return ss_stubs[hook]; }

bool IsStub(const void* function) {
  for (int i = 0; i < kHooks; ++i) {
    if (ss_stubs[i] == function) return true;
  }
  return false;
}

}  // namespace ss::capture
