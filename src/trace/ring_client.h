// How a process hands its rings to the collector. One client a process image.
//
// Like RingWriter it lives in a page that a forked child sees zeroed: there alive() is false, and
// the child makes a client of its own at its next driver call, with Connect. exec closes everything
// by itself.
#pragma once

#include "src/trace/ring.h"
#include "src/trace/ring_protocol.h"

namespace ss::trace {

struct RingOptions {
  size_t ring_bytes = kDefaultRingBytes;
  OnFull on_full = OnFull::kBlock;
  int64_t rank = -1;
};

class RingClient {
 public:
  // `socket_name` is STREAMSAN_SOCKET's value. Null with errno when nobody listens there (the
  // program then runs unwatched). Never blocks for longer than kSendTimeout.
  static RingClient* Connect(const char* socket_name, const RingOptions& options);

  // A ring for the calling thread, already announced to the collector. Null with errno: count what
  // is not recorded with CountLost. Any thread; the ring is Destroy()ed by its thread at its end.
  RingWriter* NewRing();
  void CountLost(uint64_t records);
  // The table of src/trace/crumbs.h. False: the collector does not know of it.
  bool SendCrumbs(int fd);

  // Hangs up, for good. Nothing is unmapped: other threads may be inside Append, and rings that are
  // still mapped are drained to their end.
  void Close();

  bool alive() const { return control_ != nullptr && !closed_.load(std::memory_order_relaxed); }
  ControlPage* control() { return control_; }

 private:
  static constexpr int kSendTimeoutSeconds = 2;

  bool MapControl(int fd);
  bool Reach(int control_fd);
  bool Send(MessageKind kind, uint32_t thread, int fd);

  ControlPage* control_;  // null after a fork
  RingOptions options_;
  uint64_t nonce_;
  std::atomic<uint32_t> next_thread_;
  std::atomic_flag busy_;  // held while a message is sent; all zero = clear (C++20)
  std::atomic<bool> closed_;
  char socket_name_[108];
};

}  // namespace ss::trace
