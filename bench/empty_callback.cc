// A callback for operators that does nothing: what is left is PyTorch's own part, and no tool that
// hears of operators costs less. Built and called by empty_callback.py.
#include <ATen/record_function.h>

#include <atomic>
#include <memory>

namespace {

std::atomic<uint64_t> g_count{0};

std::unique_ptr<at::ObserverContext> Nothing(const at::RecordFunction&) { return nullptr; }
std::unique_ptr<at::ObserverContext> Counted(const at::RecordFunction&) {
  g_count.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}
void End(const at::RecordFunction&, at::ObserverContext*) {}

}  // namespace

extern "C" {

uint64_t empty_callback_attach(int arguments, int count) {
  return at::addGlobalCallback(
      at::RecordFunctionCallback(count ? Counted : Nothing, End)
          .needsInputs(arguments != 0)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

void empty_callback_detach(uint64_t handle) { at::removeCallback(handle); }

uint64_t empty_callback_count(void) { return g_count.exchange(0); }

}  // extern "C"
