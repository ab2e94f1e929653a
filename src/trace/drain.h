// The drainer's end of one ring. Everything in the shared pages may be garbage at any time: what is
// wrong makes the ring broken, never this process.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/result.h"
#include "src/trace/crumbs.h"
#include "src/trace/decode.h"
#include "src/trace/ring.h"

namespace ss::trace {

class RingReader {
 public:
  // Takes the descriptor. Refuses memory that its owner could still shrink (reading it would be
  // SIGBUS).
  static Result<std::unique_ptr<RingReader>> Map(int fd);
  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  // Published and not yet consumed, in one piece. Valid until Consume.
  ByteSpan Peek();
  void Consume(size_t bytes);
  // Gives up on the ring: what is in it cannot be followed any more.
  void Break() { broken_ = true; }

  uint32_t thread() const { return thread_; }
  bool broken() const { return broken_; }
  bool closed() const { return header_->closed.load(std::memory_order_acquire) != 0; }
  // Numbers below this one have been published by this thread.
  uint64_t in_call() const { return header_->in_call.load(std::memory_order_acquire); }
  // Drops that no Dropped record tells of (the ring stayed full to the end).
  uint64_t UnnotedDrops() const;

 private:
  RingReader(RingHeader* header, size_t capacity);

  RingHeader* header_;
  size_t capacity_;
  uint64_t tail_ = 0;
  uint32_t thread_;
  bool broken_ = false;
};

// The breadcrumbs of a process; null when they are none. Takes the descriptor.
std::shared_ptr<const CrumbTable> MapCrumbs(int fd);

// The control page of a process; null when it is none. Takes the descriptor.
ControlPage* MapControlPage(int fd);
void UnmapControlPage(ControlPage* page);

}  // namespace ss::trace
