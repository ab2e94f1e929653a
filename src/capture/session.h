// The connection of this process image to its collector, and what each of its threads has.
//
// Nothing is opened before the program touches CUDA: the first successful cuInit (or annotation)
// opens the session, a thread's first record opens its ring. A forked child finds the ring's and
// the client's pages wiped and begins anew. Without STREAMSAN_SOCKET, or with disable=1, all calls
// are only forwarded.
#pragma once

#include <cstdint>

#include "src/capture/options.h"
#include "src/trace/encode.h"
#include "src/trace/ring.h"
#include "src/trace/ring_client.h"

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
  StackCache* stack_cache;
  uintptr_t stack_low;  // this thread's own stack
  uintptr_t stack_high;
  uint8_t* record;  // trace::kMaxRecord bytes
  uint64_t* words;  // 2 * kMaxWords
};
constexpr uint32_t kMaxWords = 3200;  // of a launch, as many as a record holds for certain

// The calling thread's state while a session is open, null otherwise (then the call is only
// forwarded). `driver_is_up`: the caller knows that the program initialised the driver, so open the
// session now.
Thread* CurrentThread(bool driver_is_up = false);

// The same, but null too where the thread has no record yet: opens nothing.
Thread* OpenedThread();

// Called around the program's cuInit.
bool DriverWasUp();
void OnInit(bool was_up);

const Options& TheOptions();

// Appends a record that is no call.
template <class View>
void Note(Thread& thread, const View& view) {
  uint64_t seq = thread.ring->Next();
  size_t bytes = trace::Encode(thread.record, trace::kMaxRecord, seq, seq, view);
  thread.ring->Append(thread.record, bytes);
}

}  // namespace ss::capture
