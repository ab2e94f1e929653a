// A map of 64-bit words for the hot path: open addressing in pages that the kernel gives on first
// touch, no lock, no allocation, never rehashed. Keys stay once they are in (handles come back);
// value 0 means absent. A full map refuses new keys: the caller then asks the driver each time.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ss::capture {

class WordMap {
 public:
  // False when there is no memory; the map is then always empty.
  bool Init(unsigned log2_capacity) {
    size_t bytes = sizeof(Slot) << log2_capacity;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    shift_ = 64 - log2_capacity;
    mask_ = (size_t{1} << log2_capacity) - 1;
    slots_ = static_cast<Slot*>(memory);
    return true;
  }

  uint64_t Get(uint64_t key) const {
    const Slot* slot = Find(key);
    return slot ? slot->value.load(std::memory_order_acquire) : 0;
  }

  // True when this call changed the value from 0: of several threads that see something first, one.
  bool Insert(uint64_t key, uint64_t value) {
    uint64_t absent = 0;
    Slot* slot = FindOrAdd(key);
    return slot && slot->value.compare_exchange_strong(absent, value, std::memory_order_acq_rel);
  }

  void Set(uint64_t key, uint64_t value) {
    Slot* slot = value ? FindOrAdd(key) : const_cast<Slot*>(Find(key));
    if (slot) slot->value.store(value, std::memory_order_release);
  }

  void Clear() {  // not while others use the map
    if (slots_) madvise(slots_, (mask_ + 1) * sizeof(Slot), MADV_DONTNEED);
  }

 private:
  static constexpr size_t kMaxProbes = 256;
  struct Slot {
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> value;
  };

  size_t Start(uint64_t key) const { return (key * 0x9e3779b97f4a7c15) >> shift_; }

  const Slot* Find(uint64_t key) const {
    if (!slots_) return nullptr;
    size_t at = Start(key);
    for (size_t i = 0; i < kMaxProbes; ++i, at = (at + 1) & mask_) {
      uint64_t seen = slots_[at].key.load(std::memory_order_acquire);
      if (seen == key) return &slots_[at];
      if (seen == 0) return nullptr;
    }
    return nullptr;
  }

  Slot* FindOrAdd(uint64_t key) {
    if (!slots_ || key == 0) return nullptr;
    size_t at = Start(key);
    for (size_t i = 0; i < kMaxProbes; ++i, at = (at + 1) & mask_) {
      uint64_t seen = 0;
      if (slots_[at].key.compare_exchange_strong(seen, key, std::memory_order_acq_rel) ||
          seen == key) {
        return &slots_[at];
      }
    }
    return nullptr;
  }

  Slot* slots_ = nullptr;
  size_t mask_ = 0;
  unsigned shift_ = 0;
};

}  // namespace ss::capture
