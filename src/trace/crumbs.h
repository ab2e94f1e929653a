// How far each stream of a watched process has come (`streamsan run --breadcrumbs`). One table a
// process, in a memfd of its own: the GPU writes into it behind each operation, the watching
// process reads it at any time, also when the other one is gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ss::trace {

constexpr uint64_t kCrumbMagic = 0x31424d5243535353;  // "SSSCRMB1"
constexpr uint32_t kCrumbSlots = 1020;

// Numbers are seq_before of records.
struct CrumbSlot {
  std::atomic<uint64_t> first;   // the stream's first operation with a mark behind it; 0 = free
  std::atomic<uint64_t> queued;  // the last one
  std::atomic<uint64_t> done;    // written by the GPU: the last one that is over
  uint64_t reserved;
};

struct CrumbTable {
  uint64_t magic;
  std::atomic<uint32_t> used;      // slots, from the front
  std::atomic<uint32_t> unmarked;  // operations behind which no mark could be put
  uint64_t reserved[2];
  CrumbSlot slots[kCrumbSlots];
};
static_assert(sizeof(CrumbTable) == 32 + 32 * size_t{kCrumbSlots});

}  // namespace ss::trace
