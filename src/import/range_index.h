// Disjoint address ranges in order, with a Block each: a B+ tree of two levels. Looking up an
// address costs two binary searches over contiguous memory.
//
// Rejected: std::map (its nodes lie everywhere: with a few thousand blocks, cache misses in it were
// a third of the importer's time), one sorted array (blocks come and go in the middle).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ss {

struct Block;

class RangeIndex {
 public:
  struct Entry {
    uint64_t begin = 0, end = 0;
    Block* block = nullptr;
  };

  // The last range that begins at or before `address`, the first one that begins behind it; null if
  // none. Pointers hold until the next Insert or Erase.
  const Entry* AtOrBefore(uint64_t address) const;
  const Entry* Behind(uint64_t address) const;

  void Insert(const Entry& entry);  // must not touch another range
  void Erase(uint64_t begin);       // must be there

  // In order of address.
  void Overlapping(uint64_t begin, uint64_t end, std::vector<Block*>& out) const;
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& leaf : leaves_) {
      for (size_t i = 0; i < leaf->count; ++i) visit(leaf->entries[i]);
    }
  }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kLeaf = 128;  // entries: 4 kB, what an insertion moves at most
  struct Leaf {
    size_t count = 0;
    std::array<uint64_t, kLeaf> begins;  // of the entries, once more: what the search reads
    std::array<Entry, kLeaf> entries;
  };

  size_t LeafOf(uint64_t address) const;
  static void Refresh(Leaf& leaf, size_t from);
  size_t Split(size_t index, uint64_t begin);
  void MergeWithNext(size_t index);
  void RemoveLeaf(size_t index);
  std::unique_ptr<Leaf> NewLeaf();

  std::vector<uint64_t> firsts_;  // first address of each leaf, apart from them: the upper level
  std::vector<std::unique_ptr<Leaf>> leaves_;
  std::vector<std::unique_ptr<Leaf>> spare_;  // a few
  size_t size_ = 0;
};

}  // namespace ss
