// The producer's half of the path between a watched program and the process that watches it: one
// byte ring a thread, in a memfd that both map.
//
// Runs inside somebody else's process, so: libc only, no exception, no malloc, no lock on the hot
// path. A record is copied behind `head` and then published by one release store. The memory
// belongs to the memfd and not to the process, so a SIGKILL at any moment loses no published record
// and exposes no half one. The data is mapped twice in a row: a record that wraps is still one
// memcpy on both sides (rejected: padding records, which every reader would have to know).
//
// Limits: a record is at most kMaxRecord bytes; a ring is a power of two, 128 KiB to 1 GiB.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ss::trace {

constexpr uint64_t kRingMagic = 0x31474e5253535353;     // "SSSSRNG1"
constexpr uint64_t kControlMagic = 0x314c544353535353;  // "SSSSCTL1"
constexpr uint32_t kRingVersion = 1;
constexpr size_t kRingHeaderBytes = 4096;
constexpr size_t kDefaultRingBytes = size_t{4} << 20;
constexpr size_t kMaxRecord = 64 << 10;  // a 32 KiB parameter block as pairs is 49 KiB at most
constexpr uint64_t kNotInCall = ~uint64_t{0};

// How long a full ring blocks. Counted in sleeps and not by the clock: a job that was stopped and
// resumed (Ctrl-Z) must not take the pause for the drainer's death.
constexpr uint32_t kDeadSleeps = 2000;    // of 1 ms without a beat: the drainer is dead
constexpr uint32_t kStuckSleeps = 30000;  // of 1 ms without progress: it lives and does not drain

// First page of a ring's memfd. Everything in it is untrusted for the drainer.
struct RingHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t thread;  // number within the process, from 1, in order of first use
  uint64_t capacity;
  uint64_t os_tid;
  alignas(64) std::atomic<uint64_t> head;  // bytes published, ever; written by the producer
  std::atomic<uint64_t> in_call;           // lower bound of the seq_before of a call in progress
  std::atomic<uint64_t> dropped;           // records, ever
  std::atomic<uint64_t> dropped_noted;  // of those, how many a Dropped record in the ring tells of
  std::atomic<uint32_t> closed;         // 1 = the thread is gone, nothing follows
  alignas(64) std::atomic<uint64_t> tail;  // bytes consumed, ever; written by the drainer
};
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);

// One page a process, in a memfd of its own: the sequence counter, and the drainer's pulse.
struct ControlPage {
  uint64_t magic;
  uint32_t version;
  uint32_t pid;
  alignas(64) std::atomic<uint64_t> next_seq;  // from 1
  alignas(64) std::atomic<uint64_t> beat;      // moves every 100 ms while the drainer lives
  std::atomic<uint32_t> gone;                  // 1 = the drainer said goodbye: drop at once
  std::atomic<uint64_t> dropped;               // records for which there was no ring at all
  std::atomic<uint32_t> dead_sleeps;           // kDeadSleeps and kStuckSleeps, for tests to shorten
  std::atomic<uint32_t> stuck_sleeps;
};
static_assert(sizeof(ControlPage) <= 4096);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

enum class OnFull : uint32_t { kBlock, kDrop };

// One thread's ring. Single producer: only its own thread calls anything but the const functions.
// The object lives in a page that the kernel wipes in a forked child (MADV_WIPEONFORK), where the
// shared memory still belongs to the parent: all calls on a wiped writer do nothing, and alive()
// says so.
class RingWriter {
 public:
  // A new ring; `control` may be null (tests) and must outlive the writer. *fd receives the memfd,
  // which the caller sends and closes. Null with errno when memory or descriptors run out.
  static RingWriter* Create(size_t bytes, uint32_t thread, OnFull on_full, ControlPage* control,
                            int* fd);
  // Marks the ring closed and unmaps it and the writer itself.
  void Destroy();

  bool alive() const { return header_ != nullptr; }
  uint32_t thread() const { return thread_; }
  uint64_t dropped() const;

  // Around whatever is recorded: before = Begin(); the call; after = Next(); Append(); End(). Begin
  // announces the number, so that the drainer knows exactly up to which one everything has arrived.
  // A record that is no call does the same with after = before. Nests; a definition that is
  // appended inside (Text, Stack, Function) carries `before` of the call that needs it, so that it
  // sorts in front of it. Next() without Begin is allowed; the record may then be merged late,
  // which the reader counts.
  uint64_t Begin() {
    if (!alive()) return 0;
    if (depth_++ == 0) {
      header_->in_call.store(control_->next_seq.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    }
    return control_->next_seq.fetch_add(1);  // a full barrier: the announcement is out first
  }
  uint64_t Next() { return alive() ? control_->next_seq.fetch_add(1) : 0; }
  void End() {
    if (!alive() || depth_ == 0 || --depth_ != 0) return;
    header_->in_call.store(kNotInCall, std::memory_order_release);
  }

  // One whole record, or nothing: false = dropped and counted (full under kDrop, drainer dead,
  // larger than kMaxRecord, empty, or called from a signal handler that interrupted another
  // Append). After a gap the next record that fits is preceded by a Dropped record with the count.
  bool Append(const uint8_t* record, size_t bytes) {
    if (!alive()) return false;
    if (busy_ || bytes - 1 >= kMaxRecord || pending_dropped_ != 0 || !HasRoom(bytes)) {
      return AppendSlow(record, bytes);
    }
    Publish(record, bytes);
    return true;
  }

 private:
  bool HasRoom(size_t bytes) {
    if (head_ + bytes <= room_end_) return true;
    room_end_ = header_->tail.load(std::memory_order_acquire) + capacity_;
    return head_ + bytes <= room_end_;
  }
  void Publish(const uint8_t* record, size_t bytes) {
    busy_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    __builtin_memcpy(data_ + (head_ & (capacity_ - 1)), record, bytes);
    head_ += bytes;
    header_->head.store(head_, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    busy_ = false;
  }
  bool AppendSlow(const uint8_t* record, size_t bytes);
  bool WaitForRoom(size_t bytes);
  bool PulseStopped(uint64_t beat) const;
  bool Drop();
  bool NoteDropped(const uint8_t* record);

  RingHeader* header_;  // null after a fork
  uint8_t* data_;       // 2 * capacity_ bytes
  uint64_t capacity_;
  uint64_t head_;
  uint64_t room_end_;  // tail as last seen + capacity
  ControlPage* control_;
  uint64_t pending_dropped_;
  uint64_t beat_at_give_up_;
  enum : uint8_t { kWaits, kSilent, kStuck } gave_up_;
  bool busy_;
  uint32_t depth_;
  uint32_t thread_;
  OnFull on_full_;
};

// A memfd that can never shrink under its other user (sealed), and its mapping. -1/null with errno.
int CreateSharedMemory(const char* name, size_t bytes);
void* MapShared(int fd, size_t bytes);
// Header page, then the data twice: kRingHeaderBytes + 2 * capacity bytes.
void* MapRing(int fd, size_t capacity);
// A forked child does not get this mapping (nor keeps its memory alive).
void KeepFromChildren(void* at, size_t bytes);
// A page that a forked child sees zeroed. Null with errno.
void* MapWipedOnFork(size_t bytes);

}  // namespace ss::trace
