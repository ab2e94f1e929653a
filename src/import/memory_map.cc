#include "src/import/memory_map.h"

#include <algorithm>

namespace ss {

Block* MemoryMap::At(const Layer& layer, uint64_t begin) {
  auto it = layer.find(begin);
  return it == layer.end() ? nullptr : it->second;
}

Block* MemoryMap::Containing(const Layer& layer, uint64_t address) {
  auto it = layer.upper_bound(address);
  if (it == layer.begin()) return nullptr;
  Block* block = std::prev(it)->second;
  return address < block->end ? block : nullptr;
}

MemoryMap::Found MemoryMap::FindSlowly(uint64_t address, CacheLine& line) {
  Block* block = Containing(pool_, address);
  uint64_t begin = 0, end = 0;
  if (block != nullptr) {
    begin = block->begin;
    end = block->end;
  } else if ((block = Containing(driver_, address)) == nullptr) {
    return {};
  } else {  // a segment: its bytes between two pool blocks
    auto next = pool_.upper_bound(address);
    end = next == pool_.end() ? block->end : std::min(block->end, next->first);
    begin = next == pool_.begin() ? block->begin : std::max(block->begin, std::prev(next)->second->end);
  }
  line = {begin, end, block, block->stamp};
  return {block, end};
}

Block* MemoryMap::Add(Layer& layer, uint64_t begin, uint64_t end) {
  if (spare_.empty()) {
    blocks_.emplace_back();
    spare_.push_back(&blocks_.back());
  }
  Block* block = spare_.back();
  spare_.pop_back();
  *block = Block{.begin = begin, .end = end, .stamp = ++stamps_};
  layer.emplace(begin, block);
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
  (block->in_pool_layer ? pool_ : driver_).erase(block->begin);
  block->stamp = ++stamps_;
  spare_.push_back(block);
}

// Cached gaps of the segments below [begin, end) are wrong now.
void MemoryMap::Restamp(uint64_t begin, uint64_t end) {
  scratch_.clear();
  Overlapping(driver_, begin, end, scratch_);
  for (Block* segment : scratch_) {
    segment->stamp = ++stamps_;
    segment->carved = true;
  }
}

void MemoryMap::Overlapping(const Layer& layer, uint64_t begin, uint64_t end, std::vector<Block*>& out) {
  auto it = layer.upper_bound(begin);
  if (it != layer.begin() && std::prev(it)->second->end > begin) --it;
  for (; it != layer.end() && it->first < end; ++it) out.push_back(it->second);
}

void MemoryMap::OverlappingDriver(uint64_t begin, uint64_t end, std::vector<Block*>& out) const {
  Overlapping(driver_, begin, end, out);
}

void MemoryMap::OverlappingPool(uint64_t begin, uint64_t end, std::vector<Block*>& out) const {
  Overlapping(pool_, begin, end, out);
}

void MemoryMap::OfContext(uint64_t context, std::vector<Block*>& out) const {
  for (const auto& [begin, block] : driver_) {
    if (block->context == context) out.push_back(block);
  }
}

}  // namespace ss
