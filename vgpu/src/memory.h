// The address space of the virtual GPU: real host memory at recognisable addresses.
//
//   device N   0x7e90'0000'0000 + N * 0x10'0000'0000       pinned    0x7ea0'0000'0000
//   managed    0x7eb0'0000'0000
//
// The ranges lie where neither the loader, nor malloc, nor the sanitizers put anything. Freed
// memory stays mapped and goes to the next tenant: work that is still in flight then damages that
// tenant's data, as on a GPU, instead of crashing the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "objects.h"

namespace ss::vgpu {

enum class MemoryKind : uint8_t { kDevice, kPinned, kRegistered, kManaged };

struct Pool;

struct Block {
  uint64_t base = 0;
  uint64_t bytes = 0;     // as asked for
  uint64_t reserved = 0;  // what the arena or pool set aside
  MemoryKind kind{};
  Context* context = nullptr;
  int device = 0;
  unsigned flags = 0;
  uint64_t serial = 0;              // CU_POINTER_ATTRIBUTE_BUFFER_ID
  Pool* pool = nullptr;             // stream-ordered allocation
  bool mapped = false;              // into a reserved range: no arena's
  bool of_graph = false;            // allocated by a graph: stays that graph's when it is freed
  unsigned opened = 0;              // another process's memory: how often
  std::pair<int, uint64_t> handle;  // of that: the process, and the serial there

  bool OnHost() const { return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered; }
  bool Holds(uint64_t address, uint64_t length) const {
    return address >= base && length <= bytes && address - base <= bytes - length;
  }
};

// First fit over one contiguous reserved range; reuses low addresses at once.
class Arena {
 public:
  Arena(uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes) {}
  std::optional<uint64_t> Take(uint64_t bytes);
  // Puts a file under the range, for other processes to map; `blocks` keep their contents. The
  // file, or -1.
  int Share(const std::vector<const Block*>& blocks, int device);
  uint64_t base() const { return base_; }
  void Give(uint64_t address, uint64_t bytes);
  void Unmap();
  uint64_t taken() const { return taken_; }
  uint64_t bytes() const { return bytes_; }

 private:
  bool Map();

  uint64_t base_;
  uint64_t bytes_;
  uint64_t taken_ = 0;
  bool mapped_ = false;
  int file_ = -1;
  std::map<uint64_t, uint64_t> free_;  // address -> length, never adjacent
};

class Memory {
 public:
  explicit Memory(int devices);
  ~Memory();

  // Null when the arena is full.
  Block* Allocate(MemoryKind kind, Context* context, uint64_t bytes, unsigned flags);
  // A tenancy of host memory that the program owns, or of storage inside a pool's block.
  Block* Adopt(const Block& block);
  void Release(Block* block);
  // The block that contains `address`, or null.
  Block* Find(uint64_t address);
  // The file behind a device's memory, once and for all; or -1. No operation may be running.
  int ShareDevice(int number);
  Arena& device(int number) { return device_[static_cast<size_t>(number)]; }
  std::map<uint64_t, Block>& blocks() { return blocks_; }

 private:
  Arena& ArenaOf(MemoryKind kind, int device);

  std::vector<Arena> device_;
  Arena pinned_;
  Arena managed_;
  std::map<uint64_t, Block> blocks_;  // by base
  uint64_t next_serial_ = 1;
};

}  // namespace ss::vgpu
