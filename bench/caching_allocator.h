// What PyTorch's allocator does with blocks of one size: blocks are cut from segments, and a block
// that is freed goes back at once to the stream that owns it, last in first out.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/program/op.h"

namespace ss::bench {

// All blocks have this nominal size; what is charged by the byte scales the ranges
// (bench/tsan_bench.cc).
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;
constexpr uint64_t kSegmentBytes = 32 * kBlockBytes;

struct Block {
  BufferId id = 0;
  uint64_t begin = 0, end = 0;
  StreamId owner = 0;
  MemoryKind kind{};
};

class CachingAllocator {
 public:
  Block Take(StreamId owner, MemoryKind kind) {
    std::vector<uint64_t>& own = List(owner, kind);
    std::vector<uint64_t>& free = own.empty() && kind == MemoryKind::kCaching ? free_[0] : own;
    uint64_t begin = 0;
    if (free.empty()) {
      uint64_t& next = next_[static_cast<size_t>(kind)];
      if (next == 0) next = (static_cast<uint64_t>(kind) + 1) << 40;
      begin = next;
      next += kBlockBytes;
    } else {
      begin = free.back();
      free.pop_back();
    }
    return {NewId(), begin, begin + kBlockBytes, owner, kind};
  }
  void Give(const Block& block) { List(block.owner, block.kind).push_back(block.begin); }
  // The stream is no more: its free blocks serve whoever has none.
  void Forget(StreamId owner) {
    auto list = free_.find(owner);
    if (list == free_.end()) return;
    std::vector<uint64_t> blocks = std::move(list->second);
    free_.erase(list);
    free_[0].insert(free_[0].end(), blocks.begin(), blocks.end());
  }
  // Whether the block is the first one of a segment: cudaMalloc was called for it.
  bool StartsSegment(const Block& block) {
    if (block.kind != MemoryKind::kCaching || block.begin % kSegmentBytes != 0) return false;
    return segments_.emplace(block.begin, true).second;
  }
  BufferId NewId() { return next_id_++; }

 private:
  // By owner; 0 holds what anybody may take. Memory of other kinds than kCaching has no owner.
  std::vector<uint64_t>& List(StreamId owner, MemoryKind kind) {
    return kind == MemoryKind::kCaching ? free_[owner] : other_[static_cast<size_t>(kind)];
  }

  std::unordered_map<StreamId, std::vector<uint64_t>> free_;
  std::array<std::vector<uint64_t>, 8> other_;
  std::array<uint64_t, 8> next_{};
  std::unordered_map<uint64_t, bool> segments_;
  BufferId next_id_ = 1;
};

}  // namespace ss::bench
