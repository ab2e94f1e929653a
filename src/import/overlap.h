// Finds calls of different threads that overlapped on one stream or event, so that the record
// numbers do not tell which took effect first. Only pairs whose order matters count: two queries,
// or two waits on one event, commute; a launch and a record, or a record and a wait on its event,
// do not.
#pragma once

#include <cstdint>
#include <vector>

#include "src/import/hold.h"
#include "src/program/op.h"

namespace ss {

struct Touch {
  uint32_t thread = 0;
  uint64_t before = 0, after = 0;  // of the call; equal for what takes effect at one moment
  StreamId stream = 0;             // 0 with `whole_context` = every stream of it
  StreamType type{};
  uint32_t context = 0;
  uint32_t primary = 0;  // as in ContextLife
  bool whole_context = false;
  bool changes_stream = false;  // queues something; else only looks at what is queued
  EventId event = 0;
  bool changes_event = false;
};

class OverlapWatch {
 public:
  static constexpr HoldQueue::Ticket kNotQueued = ~HoldQueue::Ticket{0};

  // Call in order of `before`. Flags the earlier operations that `touch` overlaps (where they still
  // wait in `held`) and returns whether there are any. `ticket` is the operation of `touch`,
  // kNotQueued if it comes later.
  bool Check(const Touch& touch, HoldQueue::Ticket ticket, HoldQueue& held);
  // Whether a call given with kNotQueued has been overlapped since. Ask before the next Check
  // beyond `after`.
  bool WasHit(uint32_t thread, uint64_t after) const;

 private:
  struct Open {
    Touch touch;
    HoldQueue::Ticket ticket;
    bool hit;
  };

  std::vector<Open> open_;  // calls that may still be running: about one a thread
};

}  // namespace ss
