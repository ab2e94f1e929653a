// The connection of this process image to its collector, and what each of its threads has.
//
// Nothing is opened before the program touches CUDA: the first successful cuInit (or annotation)
// opens the session, a thread's first record opens its ring. A forked child finds the ring's and
// the client's pages wiped and begins anew. Without STREAMSAN_SOCKET, or with disable=1, all calls
// are only forwarded.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/capture/options.h"
#include "src/trace/encode.h"
#include "src/trace/ring.h"
#include "src/trace/ring_client.h"
#include "streamsan/annotate.h"

namespace ss::capture {

class StackCache;

struct Thread {
  trace::RingWriter* ring;
  uint64_t last_context;  // CUcontext that is known to have its record
  uint64_t host_token;    // host function that this thread runs now, 0 = none
  uint32_t in_allocator;  // depth of streamsan_pool_enter
  uint32_t since_counts;  // records since the counts of unmodelled calls were last looked at
  uint32_t records;       // calls recorded, modulo 2^32
  bool in_driver;         // inside a driver call: what it calls itself is not the program's
  uint32_t in_nccl;       // inside a recorded call of NCCL
  uint32_t nccl_depth;    // of ncclGroupStart
  uint32_t nccl_calls;    // recorded in the group that is open
  uint64_t nccl_group;    // its number
  uint32_t told_calls;    // recorded of the plan that NCCL tells of
  uint64_t told_group;    // its number
  StackCache* stack_cache;
  uintptr_t stack_low;  // this thread's own stack
  uintptr_t stack_high;
  uint8_t* record;         // trace::kMaxRecord bytes
  uint64_t* words;         // 2 * kMaxWords
  streamsan_context told;  // the last Doing record
};
constexpr uint32_t kMaxWords = 3200;  // of a launch, as many as a record holds for certain

// The calling thread's state while a session is open, null otherwise (then the call is only
// forwarded). `driver_is_up`: the caller knows that the program initialised the driver, so open the
// session now.
Thread* CurrentThread(bool driver_is_up = false);

// Until it is called with false, CurrentThread is null in every thread.
void PauseRecording(bool pause);

// The same, but null too where the thread has no record yet: opens nothing.
Thread* OpenedThread();

// Called around the program's cuInit.
bool DriverWasUp();
void OnInit(bool was_up);

const Options& TheOptions();

// Set for good when the process first gives away or opens memory or an event (rule 8): from then on
// records are told with the time, so that they can be put in one order with another process's.
extern std::atomic<bool> g_shares;
// Appends a Time record with the number `seq`.
void TellTimeNow(Thread& thread, uint64_t seq);
inline void TellTime(Thread& thread, uint64_t seq) {
  if (g_shares.load(std::memory_order_relaxed)) [[unlikely]]
    TellTimeNow(thread, seq);
}

// Appends a record that is no call.
template <class View>
void Note(Thread& thread, const View& view) {
  uint64_t seq = thread.ring->Next();
  TellTime(thread, seq);
  size_t bytes = trace::Encode(thread.record, trace::kMaxRecord, seq, seq, view);
  thread.ring->Append(thread.record, bytes);
}

// What a framework says that this thread is doing. Not part of Thread: the framework keeps its
// address for as long as the thread lives, through forks and through the end of our own part of the
// thread.
[[gnu::tls_model("initial-exec")]] extern thread_local streamsan_context t_context;

// The framework's own way to bring t_context up to date, or null. Called before a record's number
// is taken: it may have texts interned, whose records come first.
extern std::atomic<void (*)(streamsan_context*)> g_refresh_context;

inline void RefreshContext() {
  if (auto* refresh = g_refresh_context.load(std::memory_order_acquire)) refresh(&t_context);
}

// Before a record that has a call site: what the thread is doing, where that has changed. Told late
// and not at every change, because most operators reach no driver call. `seq` is the call's own
// number: the record sorts in front of it.
inline void TellContext(Thread& thread, uint64_t seq) {
  const streamsan_context& now = t_context;
  streamsan_context& told = thread.told;
  if (__builtin_memcmp(&now, &told, sizeof now) == 0) [[likely]]
    return;
  told = now;
  size_t bytes = trace::Encode(thread.record, trace::kMaxRecord, seq, seq,
                               trace::view::Doing{.operator_text = now.operator_text,
                                                  .forward_text = now.forward_text,
                                                  .module_text = now.module_text,
                                                  .site_text = now.site_text});
  thread.ring->Append(thread.record, bytes);
}

inline void TellNow(Thread& thread) {
  RefreshContext();
  TellContext(thread, thread.ring->Next());
}

}  // namespace ss::capture
