#include "pool.h"

namespace ss::vgpu {

namespace {

// Storage is not split; a block more than twice too large is left for someone larger.
bool Fits(const FreeRange& range, uint64_t bytes) {
  return range.reserved >= bytes && range.reserved / 2 <= bytes;
}

}  // namespace

bool TakeRange(Pool& pool, const Stream* stream, uint64_t bytes, FreeRange* taken, OpPtr* after) {
  auto best = pool.ranges.end();
  for (auto it = pool.ranges.begin(); it != pool.ranges.end(); ++it) {
    if (!Fits(*it, bytes)) continue;
    const bool own = it->stream == stream;
    if (best == pool.ranges.end() || own) best = it;
    if (own) break;
  }
  if (best == pool.ranges.end()) return false;
  *taken = *best;
  *after = best->freed;
  pool.ranges.erase(best);
  return true;
}

}  // namespace ss::vgpu
