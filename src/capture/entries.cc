// Where the stubs jump to, by row.
#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/stack.h"

extern "C" [[gnu::visibility("hidden")]] void ss_unresolved();

namespace ss::capture {

extern "C" {
void* ss_entries[] = {
#define MODELLED(symbol, base, since, per_thread, handler) \
  reinterpret_cast<void*>(&Entry<kHook_##symbol, static_cast<bool>(per_thread), &handler>::Enter),
#define COUNTED(symbol, base, since, per_thread, reason) reinterpret_cast<void*>(&ss_unresolved),
#include "src/capture/hooks.def"
#undef MODELLED
#undef COUNTED
};
}

uint64_t Call::Stack() { return stack_ = StackOf(*thread, caller, cfa); }

}  // namespace ss::capture
