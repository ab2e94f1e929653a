// Which tenancy an address belongs to, now. Two layers: what the driver gave out (and named host
// memory), and inside it the blocks of a caching allocator, which take precedence for their bytes.
// Launch arguments ask several times an operation, so that answers go through a small direct-mapped
// cache.
//
// Rejected: one layer in which a pool block cuts its segment (the segment would have to be put
// together again at every free), and deeper nesting (a pool block inside another one ends the outer
// one, counted).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "src/import/range_index.h"
#include "src/program/op.h"

namespace ss {

struct Block {
  uint64_t begin = 0, end = 0;  // untagged: without the rank
  BufferId buffer = 0;
  StringId name = 0;
  MemoryKind kind{};      // kCaching for pool blocks
  MemoryKind accessed{};  // what accesses to it say: as `kind`, but pinned or managed below a pool
                          // block stays so
  StreamId owner = 0;
  uint32_t pool = 0;     // dense allocator number
  uint64_t context = 0;  // raw handle
  bool in_pool_layer = false;
  bool named_only = false;  // no allocation was seen: the program gave the memory a name
  bool variable = false;    // a module's: it ends with the module, unseen
  bool carved = false;      // had pool blocks inside
  uint32_t opened = 0;      // another process's: how often
  uint64_t mapped = 0;      // handle of the memory that is mapped there
  bool of_graph = false;    // allocated by a graph, or while one was captured
  uint64_t stamp = 0;       // changes whenever cached answers that name the block become wrong
};

class MemoryMap {
 public:
  struct Found {
    Block* block = nullptr;  // null: no tenant
    uint64_t limit =
        0;  // its bytes go on up to here at least: the block's end or the next pool block
  };

  Found Find(uint64_t address) {
    if (address < lowest_ || address >= highest_)
      return {};  // sizes, counts, flags: most words are no address
    CacheLine& line = cache_[Slot(address)];
    if (line.block != nullptr && address >= line.begin && address < line.end &&
        line.block->stamp == line.stamp) {
      return {line.block, line.end};
    }
    return FindSlowly(address, line);
  }
  // The block that begins exactly there; null if there is none.
  Block* DriverBlock(uint64_t begin) { return At(driver_, begin); }
  Block* PoolBlock(uint64_t begin) { return At(pool_, begin); }

  // [begin, end) must be free in its layer: see Overlapping.
  Block* AddDriver(uint64_t begin, uint64_t end) { return Add(driver_, begin, end); }
  Block* AddPool(uint64_t begin, uint64_t end);
  void Remove(Block* block);

  // Appends the blocks of one layer that touch [begin, end), in order of address.
  void OverlappingDriver(uint64_t begin, uint64_t end, std::vector<Block*>& out) const {
    driver_.Overlapping(begin, end, out);
  }
  void OverlappingPool(uint64_t begin, uint64_t end, std::vector<Block*>& out) const {
    pool_.Overlapping(begin, end, out);
  }
  // Appends the driver's blocks of one context.
  void OfContext(uint64_t context, std::vector<Block*>& out) const;

  size_t size() const { return driver_.size() + pool_.size(); }

 private:
  struct CacheLine {
    uint64_t begin = 0, end = 0;
    Block* block = nullptr;
    uint64_t stamp = 0;
  };
  static constexpr int kCacheBits = 14;

  // 512 bytes is the granularity of the caching allocators: neighbours get lines of their own.
  static size_t Slot(uint64_t address) {
    return ((address >> 9) * 0x9E3779B97F4A7C15u) >> (64 - kCacheBits);
  }
  static Block* At(const RangeIndex& layer, uint64_t begin);
  Found FindSlowly(uint64_t address, CacheLine& line);
  Block* Add(RangeIndex& layer, uint64_t begin, uint64_t end);
  void Restamp(uint64_t begin, uint64_t end);

  RangeIndex driver_, pool_;
  std::deque<Block> blocks_;  // addresses stay; a freed Block is reused, with another stamp
  std::vector<Block*> spare_;
  std::vector<Block*> scratch_;
  uint64_t stamps_ = 0;
  uint64_t lowest_ = ~uint64_t{0}, highest_ = 0;  // of everything that ever was: only a filter
  std::array<CacheLine, size_t{1} << kCacheBits> cache_{};
};

}  // namespace ss
