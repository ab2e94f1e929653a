#include "src/import/overlap.h"

#include <algorithm>

namespace ss {
namespace {

// The legacy default stream orders with every blocking stream of its context (rule 4), so that
// overlapping calls on the two are as undecided as on one stream.
bool SameOrder(const Touch& a, const Touch& b) {
  auto includes = [](const Touch& whole, const Touch& other) {
    return whole.whole_context &&
           (whole.context == other.context || whole.context + 1 == other.primary);
  };
  if (includes(a, b) || includes(b, a)) return true;
  if (a.stream == 0 || b.stream == 0) return false;
  if (a.stream == b.stream) return true;
  if (a.context != b.context) return false;
  auto legacy_and_blocking = [](const Touch& x, const Touch& y) {
    return x.type == StreamType::kLegacy && y.type != StreamType::kNonBlocking;
  };
  return legacy_and_blocking(a, b) || legacy_and_blocking(b, a);
}

bool Conflict(const Touch& a, const Touch& b) {
  if (a.thread == b.thread) return false;
  if ((a.changes_event || b.changes_event) && a.event != 0 && a.event == b.event) return true;
  return (a.changes_stream || b.changes_stream) && SameOrder(a, b);
}

}  // namespace

bool OverlapWatch::Check(const Touch& touch, HoldQueue::Ticket ticket, HoldQueue& held) {
  std::erase_if(open_, [&](const Open& open) { return open.touch.after < touch.before; });
  bool hit = false;
  for (Open& open : open_) {
    if (!Conflict(open.touch, touch)) continue;
    hit = open.hit = true;
    if (Op* op = open.ticket == kNotQueued ? nullptr : held.Find(open.ticket)) {
      op->flags |= kAmbiguousOrder;
    }
  }
  if (touch.after > touch.before) open_.push_back({touch, ticket, hit});
  return hit;
}

bool OverlapWatch::WasHit(uint32_t thread, uint64_t after) const {
  return std::any_of(open_.begin(), open_.end(), [&](const Open& open) {
    return open.touch.thread == thread && open.touch.after == after && open.hit;
  });
}

}  // namespace ss
