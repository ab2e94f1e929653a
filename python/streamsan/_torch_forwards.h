// What a forward operator was doing, for its backward: by autograd's sequence number.
#ifndef STREAMSAN_TORCH_FORWARDS_H_
#define STREAMSAN_TORCH_FORWARDS_H_

#include <stdint.h>

#include <atomic>

#include "_torch_helper.h"
#include "streamsan/annotate.h"

namespace {

constexpr uint64_t kForwards = 1 << 16;  // operators whose backward may still come

struct Forward {
  std::atomic<uint64_t> key{0};
  uint64_t call = 0;  // of Python
  streamsan_context context;
};
Forward* g_forwards;

uint64_t KeyOf(uint64_t thread, int64_t sequence) {
  return (thread << 40) + static_cast<uint64_t>(sequence) + 1;
}

Forward& ForwardOf(int64_t sequence) {
  return g_forwards[static_cast<uint64_t>(sequence) % kForwards];
}

// Of the operators of one number, that which made the node: the last one that Python calls, since
// those before made none; and of those inside that one, the outermost.
bool IsRemembered(uint64_t thread, int64_t sequence, uint64_t call) {
  if (sequence < 0 || !g_forwards) return true;
  const Forward& forward = ForwardOf(sequence);
  return forward.key.load(std::memory_order_relaxed) == KeyOf(thread, sequence) &&
         forward.call == call;
}

void Remember(uint64_t thread, int64_t sequence, uint64_t call, const streamsan_context& context) {
  Forward& forward = ForwardOf(sequence);
  forward.key.store(0, std::memory_order_release);
  forward.call = call;
  forward.context = context;
  forward.key.store(KeyOf(thread, sequence), std::memory_order_release);
}

// A torn read is possible where the table wraps in the middle of it; the key is checked again then.
void Recall(uint64_t thread, int64_t sequence, streamsan_context* context) {
  if (sequence < 0 || !g_forwards) return;
  const Forward& forward = ForwardOf(sequence);
  uint64_t key = KeyOf(thread, sequence);
  if (forward.key.load(std::memory_order_acquire) != key) return;
  streamsan_context found = forward.context;
  if (forward.key.load(std::memory_order_acquire) != key) return;
  context->forward_text = found.operator_text;
  context->module_text = found.module_text;
  context->site_text = found.site_text;
}

}  // namespace
#endif  // STREAMSAN_TORCH_FORWARDS_H_
