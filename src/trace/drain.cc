#include "src/trace/drain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ss::trace {
namespace {

constexpr size_t kLargestRing = size_t{1} << 30;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  // Its size, 0 when it could still shrink or is no shared memory.
  size_t SealedSize() const {
    struct stat status;
    int seals = fcntl(fd_, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd_, &status) != 0) return 0;
    return static_cast<size_t>(status.st_size);
  }

 private:
  int fd_;
};

bool PowerOfTwo(size_t value) { return value && (value & (value - 1)) == 0; }

}  // namespace

Result<std::unique_ptr<RingReader>> RingReader::Map(int raw_fd) {
  Descriptor fd(raw_fd);
  size_t size = fd.SealedSize();
  size_t capacity = size > kRingHeaderBytes ? size - kRingHeaderBytes : 0;
  if (!PowerOfTwo(capacity) || capacity < kRingHeaderBytes || capacity > kLargestRing) {
    return Fail("ring", fmt::format("{} bytes of memory are no ring", size));
  }
  void* at = MapRing(fd.get(), capacity);
  if (!at) return Fail("ring", "cannot map the ring", "raise the limit of mappings or of memory");
  auto* header = static_cast<RingHeader*>(at);
  std::unique_ptr<RingReader> reader(new RingReader(header, capacity));
  if (header->magic == kRingMagic && header->version == kRingVersion) return reader;
  return Fail("ring",
              fmt::format("the ring has version {}, this streamsan drains {}", header->version,
                          kRingVersion),
              "preload the capture library of the same installation");
}

RingReader::RingReader(RingHeader* header, size_t capacity)
    : header_(header), capacity_(capacity), thread_(header->thread) {}

RingReader::~RingReader() { munmap(header_, kRingHeaderBytes + 2 * capacity_); }

ByteSpan RingReader::Peek() {
  uint64_t head = header_->head.load(std::memory_order_acquire);
  if (head - tail_ > capacity_) broken_ = true;
  if (broken_) return {};
  const auto* data = reinterpret_cast<const uint8_t*>(header_) + kRingHeaderBytes;
  return ByteSpan(data + (tail_ & (capacity_ - 1)), head - tail_);
}

void RingReader::Consume(size_t bytes) {
  tail_ += bytes;
  header_->tail.store(tail_, std::memory_order_release);
}

uint64_t RingReader::UnnotedDrops() const {
  uint64_t noted = header_->dropped_noted.load(std::memory_order_acquire);
  uint64_t dropped = header_->dropped.load(std::memory_order_acquire);
  return dropped > noted ? dropped - noted : 0;
}

std::shared_ptr<const CrumbTable> MapCrumbs(int raw_fd) {
  Descriptor fd(raw_fd);
  if (fd.SealedSize() < sizeof(CrumbTable)) return nullptr;
  void* at = MapShared(fd.get(), sizeof(CrumbTable));
  if (!at) return nullptr;
  std::shared_ptr<const CrumbTable> table(static_cast<const CrumbTable*>(at),
                                          [at](const void*) { munmap(at, sizeof(CrumbTable)); });
  return table->magic == kCrumbMagic ? table : nullptr;
}

ControlPage* MapControlPage(int raw_fd) {
  Descriptor fd(raw_fd);
  if (fd.SealedSize() < sizeof(ControlPage)) return nullptr;
  auto* page = static_cast<ControlPage*>(MapShared(fd.get(), sizeof(ControlPage)));
  if (!page || (page->magic == kControlMagic && page->version == kRingVersion)) return page;
  UnmapControlPage(page);
  return nullptr;
}

void UnmapControlPage(ControlPage* page) { munmap(page, sizeof(ControlPage)); }

}  // namespace ss::trace
