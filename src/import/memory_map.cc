#include "src/import/memory_map.h"

#include <algorithm>

namespace ss {

Block* MemoryMap::At(const RangeIndex& layer, uint64_t begin) {
  const RangeIndex::Entry* entry = layer.AtOrBefore(begin);
  return entry != nullptr && entry->begin == begin ? entry->block : nullptr;
}

MemoryMap::Found MemoryMap::FindSlowly(uint64_t address, CacheLine& line) {
  const RangeIndex::Entry* before = pool_.AtOrBefore(address);
  if (before != nullptr && address < before->end) {
    line = {before->begin, before->end, before->block, before->block->stamp};
    return {line.block, line.end};
  }
  const RangeIndex::Entry* segment = driver_.AtOrBefore(address);
  if (segment == nullptr || address >= segment->end) return {};
  line = {segment->begin, segment->end, segment->block, segment->block->stamp};
  if (before != nullptr) line.begin = std::max(line.begin, before->end);  // between two pool blocks
  const RangeIndex::Entry* next = pool_.Behind(address);
  if (next != nullptr) line.end = std::min(line.end, next->begin);
  return {line.block, line.end};
}

Block* MemoryMap::Add(RangeIndex& layer, uint64_t begin, uint64_t end) {
  if (spare_.empty()) {
    blocks_.emplace_back();
    spare_.push_back(&blocks_.back());
  }
  Block* block = spare_.back();
  spare_.pop_back();
  *block = Block{.begin = begin, .end = end, .stamp = ++stamps_};
  layer.Insert({begin, end, block});
  lowest_ = std::min(lowest_, begin);
  highest_ = std::max(highest_, end);
  return block;
}

Block* MemoryMap::AddPool(uint64_t begin, uint64_t end) {
  Restamp(begin, end);
  Block* block = Add(pool_, begin, end);
  block->in_pool_layer = true;
  return block;
}

void MemoryMap::Remove(Block* block) {
  if (block->in_pool_layer) Restamp(block->begin, block->end);
  (block->in_pool_layer ? pool_ : driver_).Erase(block->begin);
  block->stamp = ++stamps_;
  spare_.push_back(block);
}

// Cached gaps of the segments below [begin, end) are wrong now.
void MemoryMap::Restamp(uint64_t begin, uint64_t end) {
  scratch_.clear();
  driver_.Overlapping(begin, end, scratch_);
  for (Block* segment : scratch_) {
    segment->stamp = ++stamps_;
    segment->carved = true;
  }
}

void MemoryMap::OfContext(uint64_t context, std::vector<Block*>& out) const {
  driver_.ForEach([&](const RangeIndex::Entry& entry) {
    if (entry.block->context == context) out.push_back(entry.block);
  });
}

}  // namespace ss
