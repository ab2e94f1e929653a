// How often each intercepted function was called, and what was seen and not modelled.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/capture/hook_table.h"

extern "C" {
[[gnu::visibility("hidden")]] extern uint64_t ss_calls[];  // by row; counted rows: in stubs.S
// Of those, by libnccl's own code: for memory and work of its own, not the program's. Counted rows.
[[gnu::visibility("hidden")]] extern uint64_t ss_nccl_own_calls[];
[[gnu::visibility(
    "hidden")]] extern uint8_t ss_counted_call_seen;  // something is new to NoteCountedCalls
}

namespace ss::capture {

struct Thread;

// What a handler meets inside a modelled call and does not model.
enum class Gap : uint8_t {
  kUnknownLayout,
  kArrayCopy,
  kLaunchEvent,
  kManyParameters,
  kNewerFunction,
  kTooManyStacks,
  kNcclOneSided,
  kNcclScalar,
  kNcclSecond,
  kUnreadableImage,
  kTensorMapExtent,
  kManyDependencies,
  kGraphNodeKind,
  kNcclCaptured,
  kGaps
};

inline void CountCall(Hook hook) { __atomic_fetch_add(&ss_calls[hook], 1, __ATOMIC_RELAXED); }
void CountGap(Gap gap);
inline bool CountedCallSeen() {
  return __atomic_load_n(&ss_counted_call_seen, __ATOMIC_RELAXED) != 0;
}

// Emits an Unmodelled record for each name whose count has grown; at most every kCountsInterval
// records of a thread unless `now`, since some programs mix a counted call into every launch.
void NoteCountedCalls(Thread& thread, bool now = false);
// Emits all totals: at the end, and every kCountersInterval records of a thread, for those that are
// killed.
constexpr uint32_t kCountersInterval = 1 << 16;
void NoteCounters(Thread& thread);
void ResetCounts();  // in a forked child

}  // namespace ss::capture
