// The blocks of pinned memory that PyTorch's host allocator has given out.
#ifndef STREAMSAN_TORCH_PINNED_H_
#define STREAMSAN_TORCH_PINNED_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

namespace {

class PinnedBlocks {
 public:
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  // `context` is the allocator's own name for the block.
  void Add(void* context, size_t base, size_t bytes) {
    std::lock_guard<std::shared_mutex> guard(lock_);
    bases_[context] = base;
    blocks_[base] = {bytes, {}};
    count_.store(blocks_.size(), std::memory_order_relaxed);
  }

  // The block's base; 0 = not known.
  size_t Take(void* context) {
    std::lock_guard<std::shared_mutex> guard(lock_);
    auto at = bases_.find(context);
    if (at == bases_.end()) return 0;
    size_t base = at->second;
    bases_.erase(at);
    blocks_.erase(base);
    count_.store(blocks_.size(), std::memory_order_relaxed);
    return base;
  }

  // The base of the block, the first time that `stream` uses it; else 0.
  size_t Record(void* context, void* stream) {
    std::lock_guard<std::shared_mutex> guard(lock_);
    auto at = bases_.find(context);
    if (at == bases_.end()) return 0;
    return blocks_[at->second].streams.insert(stream).second ? at->second : 0;
  }

  bool Contains(size_t address) const {
    std::shared_lock<std::shared_mutex> guard(lock_);
    auto at = blocks_.upper_bound(address);
    if (at == blocks_.begin()) return false;
    --at;
    return address - at->first < at->second.bytes;
  }

 private:
  struct Block {
    size_t bytes = 0;
    std::set<void*> streams;
  };

  mutable std::shared_mutex lock_;
  std::map<size_t, Block> blocks_;  // by base
  std::unordered_map<void*, size_t> bases_;
  std::atomic<size_t> count_{0};
};

// Never destroyed: blocks are still freed while the process ends.
PinnedBlocks& g_pinned = *new PinnedBlocks;

}  // namespace
#endif  // STREAMSAN_TORCH_PINNED_H_
