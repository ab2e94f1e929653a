// `streamsan run --confirm`: one call is held back on its stream until another one is complete, or
// for a while. What came of it is a record.
//
// Held by a word of memory that the stream waits for, not by a host function: the driver may run
// the host functions of all streams in one thread, and whatever stands behind another one would
// wait for no reason of the program's.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ss::capture {

struct Thread;

// Stack ids of the two calls, once they have been made; 0 = not yet, or nothing is tried here.
extern std::atomic<uint64_t> g_trial_stacks[2];

inline bool IsOnTrial(uint64_t stack) {
  return stack && (g_trial_stacks[0].load(std::memory_order_relaxed) == stack ||
                   g_trial_stacks[1].load(std::memory_order_relaxed) == stack);
}

// The plan in the environment; null: none.
void ReadTrial(const char* text);
// A call stack that is new: is it one of the two?
void LookForTrial(uint64_t stack, const uint64_t* addresses, size_t count);

// Around a call from one of the two places. `before`: its number, which a record made here has too;
// `stream`: resolved, 0 = a call without one.
void TrialBefore(Thread& thread, uint64_t before, uint64_t stack, uint64_t stream);
void TrialAfter(Thread& thread, uint64_t before, uint64_t stack, uint64_t stream, CUresult result);
// The same for an annotation: what it tells of happens here.
void TrialNote(Thread& thread, uint64_t stack);

// The process ends: nothing is held any more.
void EndTrial(Thread& thread);
void ResetTrial();  // in a forked child

}  // namespace ss::capture
