// Stream-ordered allocation: cuMemAllocAsync and cuMemFreeAsync.
#pragma once

#include <vector>

#include "memory.h"

namespace ss::vgpu {

// Storage that was handed back and may be handed out again before the free has happened on the
// device.
struct FreeRange {
  uint64_t base = 0;
  uint64_t reserved = 0;
  OpPtr freed;                     // the free, in its stream
  const Stream* stream = nullptr;  // identity only
};

struct Pool {
  int device = 0;
  bool is_default = false;
  bool exportable = false;
  int imported = -1;  // another process's: its file, from which nothing is allocated
  std::vector<FreeRange> ranges;
  uint64_t release_threshold = 0;
  uint64_t used = 0;
  uint64_t used_high = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
};

// Takes a range of at least `bytes` that `stream` may have: first what it freed itself, then
// anything, in which case `after` names the free that the allocation has to wait for (rule 17: the
// driver's internal dependency; it orders this allocation and nothing that a program may rely on).
bool TakeRange(Pool& pool, const Stream* stream, uint64_t bytes, FreeRange* taken, OpPtr* after);

}  // namespace ss::vgpu
