#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "ipc.h"
#include "options.h"

namespace ss::vgpu {

namespace {

constexpr uint64_t kDeviceBase = 0x7e90'0000'0000;
constexpr uint64_t kDeviceStride = 0x10'0000'0000;
constexpr uint64_t kPinnedBase = 0x7ea0'0000'0000;
constexpr uint64_t kManagedBase = 0x7eb0'0000'0000;
constexpr uint64_t kHostBytes = uint64_t{4} << 30;
constexpr uint64_t kGrain = 512;  // alignment of the driver's own allocations

uint64_t RoundUp(uint64_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

}  // namespace

bool Arena::Map() {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* at = mmap(reinterpret_cast<void*>(base_), bytes_, PROT_READ | PROT_WRITE,
                  kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  // Somebody else lives there: any other place serves, it is only less recognisable.
  if (at == MAP_FAILED) at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (at == MAP_FAILED) return false;
  base_ = reinterpret_cast<uint64_t>(at);
  mapped_ = true;
  free_[base_] = bytes_;
  return true;
}

void Arena::Unmap() {
  if (mapped_) munmap(reinterpret_cast<void*>(base_), bytes_);
  if (file_ >= 0) close(file_);
  mapped_ = false;
  file_ = -1;
}

int Arena::Share(const std::vector<const Block*>& blocks, int device) {
  if (file_ >= 0) return file_;
  const int file = MakeFile("device", device);
  if (file < 0) return -1;
  bool copied = ftruncate(file, static_cast<off_t>(bytes_)) == 0;
  for (const Block* block : blocks) {
    const ssize_t written = pwrite(file, reinterpret_cast<void*>(block->base), block->bytes,
                                   static_cast<off_t>(block->base - base_));
    copied = copied && written == static_cast<ssize_t>(block->bytes);
  }
  const bool placed = copied && mmap(reinterpret_cast<void*>(base_), bytes_, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  if (placed) return file_ = file;
  close(file);
  return -1;
}

std::optional<uint64_t> Arena::Take(uint64_t bytes) {
  if (!mapped_ && !Map()) return std::nullopt;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    auto [address, length] = *it;
    if (length < bytes) continue;
    free_.erase(it);
    if (length > bytes) free_[address + bytes] = length - bytes;
    taken_ += bytes;
    return address;
  }
  return std::nullopt;
}

void Arena::Give(uint64_t address, uint64_t bytes) {
  taken_ -= bytes;
  auto next = free_.lower_bound(address);
  if (next != free_.end() && next->first == address + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  }
  free_[address] = bytes;
}

Memory::Memory(int devices) : pinned_(kPinnedBase, kHostBytes), managed_(kManagedBase, kHostBytes) {
  const uint64_t bytes = options().memory_mb << 20;
  for (int i = 0; i < devices; ++i) {
    device_.emplace_back(kDeviceBase + static_cast<uint64_t>(i) * kDeviceStride, bytes);
  }
}

Memory::~Memory() {
  for (Arena& arena : device_) arena.Unmap();
  pinned_.Unmap();
  managed_.Unmap();
}

Arena& Memory::ArenaOf(MemoryKind kind, int device) {
  if (kind == MemoryKind::kPinned) return pinned_;
  if (kind == MemoryKind::kManaged) return managed_;
  return device_[static_cast<size_t>(device)];
}

Block* Memory::Allocate(MemoryKind kind, Context* context, uint64_t bytes, unsigned flags) {
  if (bytes == 0 || bytes > (uint64_t{1} << 46)) return nullptr;
  const uint64_t reserved = RoundUp(bytes);
  const auto address = ArenaOf(kind, context->device).Take(reserved);
  if (!address) return nullptr;
  Block block;
  block.base = *address;
  block.bytes = bytes;
  block.reserved = reserved;
  block.kind = kind;
  block.context = context;
  block.device = context->device;
  block.flags = flags;
  return Adopt(block);
}

Block* Memory::Adopt(const Block& block) {
  Block& kept = blocks_[block.base] = block;
  kept.serial = next_serial_++;
  return &kept;
}

void Memory::Release(Block* block) {
  if (block->kind != MemoryKind::kRegistered && !block->pool && !block->mapped) {
    ArenaOf(block->kind, block->device).Give(block->base, block->reserved);
  }
  blocks_.erase(block->base);
}

int Memory::ShareDevice(int number) {
  Arena& arena = device(number);
  std::vector<const Block*> there;
  for (const auto& [base, other] : blocks_) {
    if (base >= arena.base() && base - arena.base() < arena.bytes()) there.push_back(&other);
  }
  return arena.Share(there, number);
}

Block* Memory::Find(uint64_t address) {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return nullptr;
  Block& block = std::prev(it)->second;
  return address - block.base < block.bytes ? &block : nullptr;
}

}  // namespace ss::vgpu
