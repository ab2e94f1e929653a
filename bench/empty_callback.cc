// A callback for operators that does nothing: what is left is PyTorch's own part, and no tool that
// hears of operators costs less. Or one that has an allocation and a free recorded, from where the
// allocator would: two records with the call stacks of real operators. Built and called by
// empty_callback.py.
#include <ATen/record_function.h>

#include <atomic>
#include <memory>

#include "streamsan/annotate.h"

namespace {

std::atomic<uint64_t> g_count{0};

std::unique_ptr<at::ObserverContext> Nothing(const at::RecordFunction&) { return nullptr; }
std::unique_ptr<at::ObserverContext> Counted(const at::RecordFunction&) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}
void End(const at::RecordFunction&, at::ObserverContext*) {}

const char g_pool = 0;
void* BlockOf(const at::RecordFunction& fn) {
  return reinterpret_cast<void*>((uintptr_t{7} << 44) +
                                 reinterpret_cast<uintptr_t>(&fn) % 4096 * 512);
}
std::unique_ptr<at::ObserverContext> Allocating(const at::RecordFunction& fn) {
  streamsan_pool_alloc(&g_pool, BlockOf(fn), 512, nullptr);
  return nullptr;
}
void Freeing(const at::RecordFunction& fn, at::ObserverContext*) {
  streamsan_pool_free(&g_pool, BlockOf(fn));
}

at::RecordFunctionCallback Callback(int kind) {
  if (kind == 1) return at::RecordFunctionCallback(Counted, End);
  if (kind == 2) return at::RecordFunctionCallback(Allocating, Freeing);
  return at::RecordFunctionCallback(Nothing, End);
}

}  // namespace

extern "C" {

// kind: 0 does nothing, 1 counts, 2 records
uint64_t empty_callback_attach(int arguments, int kind) {
  return at::addGlobalCallback(
      Callback(kind)
          .needsInputs(arguments != 0)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

void empty_callback_detach(uint64_t handle) { at::removeCallback(handle); }

uint64_t empty_callback_count(void) { return g_count.exchange(0); }

}  // extern "C"
