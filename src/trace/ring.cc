#include "src/trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "src/trace/encode.h"
#include "src/trace/size_signal.h"

namespace ss::trace {
namespace {

constexpr uint32_t kSpins = 100;
constexpr size_t kMinRingBytes = 128 << 10;  // the largest record and a note of drops
constexpr size_t kMaxRingBytes = size_t{1} << 30;
constexpr size_t kDroppedRecordBytes = 48;  // id, length, three varints

void SleepMillisecond() {
  timespec wait{0, 1000000};
  nanosleep(&wait, nullptr);
}

size_t RoundRingSize(size_t bytes) {
  size_t size = kMinRingBytes;
  while (size < bytes && size < kMaxRingBytes) size *= 2;
  return size;
}

}  // namespace

int CreateSharedMemory(const char* name, size_t bytes) {
  int fd = static_cast<int>(syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) return -1;
  NoSizeSignal no_signal;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

void* MapShared(int fd, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void* MapRing(int fd, size_t capacity) {
  size_t once = kRingHeaderBytes + capacity;
  void* at = mmap(nullptr, once + capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* base = static_cast<uint8_t*>(at);
  int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
  if (mmap(base, once, prot, flags, fd, 0) == MAP_FAILED ||
      mmap(base + once, capacity, prot, flags, fd, kRingHeaderBytes) == MAP_FAILED) {
    munmap(at, once + capacity);
    return nullptr;
  }
  return at;
}

void KeepFromChildren(void* at, size_t bytes) { madvise(at, bytes, MADV_DONTFORK); }

void* MapWipedOnFork(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  if (madvise(at, bytes, MADV_WIPEONFORK) == 0) return at;  // Linux 4.14
  int error = errno;
  munmap(at, bytes);
  errno = error;
  return nullptr;
}

RingWriter* RingWriter::Create(size_t bytes, uint32_t thread, OnFull on_full, ControlPage* control,
                               int* fd) {
  size_t capacity = RoundRingSize(bytes);
  *fd = CreateSharedMemory("streamsan-ring", kRingHeaderBytes + capacity);
  if (*fd < 0) return nullptr;
  void* self = MapWipedOnFork(sizeof(RingWriter));
  void* ring = self ? MapRing(*fd, capacity) : nullptr;
  if (!ring) {
    if (self) munmap(self, sizeof(RingWriter));
    close(*fd);
    *fd = -1;
    return nullptr;
  }
  KeepFromChildren(ring, kRingHeaderBytes + 2 * capacity);
  auto* writer = new (self) RingWriter();
  auto* header = new (ring) RingHeader();
  header->magic = kRingMagic;
  header->version = kRingVersion;
  header->thread = thread;
  header->capacity = capacity;
  header->os_tid = static_cast<uint64_t>(syscall(SYS_gettid));
  header->in_call.store(kNotInCall);
  writer->header_ = header;
  writer->data_ = static_cast<uint8_t*>(ring) + kRingHeaderBytes;
  writer->capacity_ = capacity;
  writer->room_end_ = capacity;
  writer->control_ = control;
  writer->thread_ = thread;
  writer->on_full_ = on_full;
  return writer;
}

void RingWriter::Destroy() {
  if (alive()) {
    header_->in_call.store(kNotInCall, std::memory_order_release);
    header_->closed.store(1, std::memory_order_release);
    munmap(header_, kRingHeaderBytes + 2 * capacity_);
  }
  munmap(this, sizeof(RingWriter));
}

uint64_t RingWriter::dropped() const {
  return alive() ? header_->dropped.load(std::memory_order_relaxed) : 0;
}

bool RingWriter::Drop() {
  ++pending_dropped_;
  header_->dropped.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool RingWriter::AppendSlow(const uint8_t* record, size_t bytes) {
  if (busy_ || bytes - 1 >= kMaxRecord) return Drop();
  size_t need = pending_dropped_ ? bytes + kDroppedRecordBytes : bytes;
  if (!HasRoom(need) && !WaitForRoom(need)) return Drop();
  gave_up_ = kWaits;
  if (pending_dropped_) NoteDropped(record);
  Publish(record, bytes);
  return true;
}

// The gap stands directly before the first record that made it, with that record's number.
bool RingWriter::NoteDropped(const uint8_t* record) {
  uint64_t seq = PeekSeqBefore(record);
  uint8_t note[kDroppedRecordBytes];
  size_t bytes = Encode(note, sizeof note, seq, seq, view::Dropped{.count = pending_dropped_});
  if (bytes == 0) return false;
  Publish(note, bytes);
  header_->dropped_noted.fetch_add(pending_dropped_, std::memory_order_release);
  pending_dropped_ = 0;
  return true;
}

bool RingWriter::PulseStopped(uint64_t beat) const {
  return control_ == nullptr || control_->beat.load(std::memory_order_relaxed) == beat;
}

// Blocks while the drainer lives and makes progress. Having given up, it costs a few loads per
// record: until the pulse moves again if that had stopped, until there is room if it had not.
bool RingWriter::WaitForRoom(size_t bytes) {
  if (on_full_ == OnFull::kDrop) return false;
  if (control_ && control_->gone.load(std::memory_order_relaxed)) return false;
  if (gave_up_ == kStuck || (gave_up_ == kSilent && PulseStopped(beat_at_give_up_))) return false;
  int saved_errno = errno;
  for (uint32_t i = 0; i < kSpins && !HasRoom(bytes); ++i) sched_yield();
  uint64_t beat = control_ ? control_->beat.load(std::memory_order_relaxed) : 0;
  uint64_t tail = room_end_;
  uint32_t dead_at = control_ ? control_->dead_sleeps.load(std::memory_order_relaxed) : kDeadSleeps;
  uint32_t stuck_at =
      control_ ? control_->stuck_sleeps.load(std::memory_order_relaxed) : kStuckSleeps;
  uint32_t silent = 0, stuck = 0;
  bool room = HasRoom(bytes);
  for (; !room && silent < dead_at && stuck < stuck_at; room = HasRoom(bytes)) {
    SleepMillisecond();
    if (control_ && control_->gone.load(std::memory_order_relaxed)) break;
    silent = PulseStopped(beat) ? silent + 1 : 0;
    stuck = room_end_ == tail ? stuck + 1 : 0;
    tail = room_end_;
    if (control_) beat = control_->beat.load(std::memory_order_relaxed);
  }
  gave_up_ = room ? kWaits : stuck >= stuck_at ? kStuck : kSilent;
  beat_at_give_up_ = beat;
  errno = saved_errno;
  return room;
}

}  // namespace ss::trace
