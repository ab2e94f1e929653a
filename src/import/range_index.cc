#include "src/import/range_index.h"

#include <algorithm>
#include <utility>

namespace ss {
namespace {
constexpr size_t kSpare = 16;

// How many of `count` ascending numbers are <= `value`. Without branches that depend on the data:
// addresses come in no order, and a mispredicted branch costs more than the comparison.
size_t CountUpTo(const uint64_t* numbers, size_t count, uint64_t value) {
  const uint64_t* at = numbers;
  while (count > 1) {
    const size_t half = count / 2;
    at += at[half - 1] <= value ? half : 0;
    count -= half;
  }
  return static_cast<size_t>(at - numbers) + (count == 1 && *at <= value);
}

}  // namespace

// The leaf in which `address` is or would be. The first leaf takes what lies before everything.
size_t RangeIndex::LeafOf(uint64_t address) const {
  const size_t before = CountUpTo(firsts_.data(), firsts_.size(), address);
  return before == 0 ? 0 : before - 1;
}

void RangeIndex::Refresh(Leaf& leaf, size_t from) {
  for (size_t i = from; i < leaf.count; ++i) leaf.begins[i] = leaf.entries[i].begin;
}

const RangeIndex::Entry* RangeIndex::AtOrBefore(uint64_t address) const {
  if (leaves_.empty()) return nullptr;
  const Leaf& leaf = *leaves_[LeafOf(address)];
  const size_t next = CountUpTo(leaf.begins.data(), leaf.count, address);
  return next == 0 ? nullptr : &leaf.entries[next - 1];
}

const RangeIndex::Entry* RangeIndex::Behind(uint64_t address) const {
  if (leaves_.empty()) return nullptr;
  const size_t index = LeafOf(address);
  const Leaf& leaf = *leaves_[index];
  const size_t next = CountUpTo(leaf.begins.data(), leaf.count, address);
  if (next < leaf.count) return &leaf.entries[next];
  return index + 1 < leaves_.size() ? &leaves_[index + 1]->entries[0] : nullptr;
}

std::unique_ptr<RangeIndex::Leaf> RangeIndex::NewLeaf() {
  if (spare_.empty()) return std::make_unique<Leaf>();
  std::unique_ptr<Leaf> leaf = std::move(spare_.back());
  spare_.pop_back();
  leaf->count = 0;
  return leaf;
}

// Makes two of a full leaf; returns the one that `begin` belongs to.
size_t RangeIndex::Split(size_t index, uint64_t begin) {
  Leaf& low = *leaves_[index];
  std::unique_ptr<Leaf> high = NewLeaf();
  const size_t half = low.count / 2;
  std::copy(low.entries.begin() + half, low.entries.begin() + low.count, high->entries.begin());
  high->count = low.count - half;
  Refresh(*high, 0);
  low.count = half;
  const uint64_t first = high->entries[0].begin;
  const auto at = static_cast<ptrdiff_t>(index) + 1;
  firsts_.insert(firsts_.begin() + at, first);
  leaves_.insert(leaves_.begin() + at, std::move(high));
  return begin < first ? index : index + 1;
}

void RangeIndex::Insert(const Entry& entry) {
  if (leaves_.empty()) {
    leaves_.push_back(NewLeaf());
    firsts_.push_back(entry.begin);
  }
  size_t index = LeafOf(entry.begin);
  if (leaves_[index]->count == kLeaf) index = Split(index, entry.begin);
  Leaf& leaf = *leaves_[index];
  const size_t at = CountUpTo(leaf.begins.data(), leaf.count, entry.begin);
  Entry* entries = leaf.entries.data();
  std::move_backward(entries + at, entries + leaf.count, entries + leaf.count + 1);
  entries[at] = entry;
  ++leaf.count;
  ++size_;
  Refresh(leaf, at);
  firsts_[index] = entries[0].begin;
}

void RangeIndex::Erase(uint64_t begin) {
  const size_t index = LeafOf(begin);
  Leaf& leaf = *leaves_[index];
  const size_t at = CountUpTo(leaf.begins.data(), leaf.count, begin) - 1;
  Entry* entries = leaf.entries.data();
  std::move(entries + at + 1, entries + leaf.count, entries + at);
  --leaf.count;
  --size_;
  Refresh(leaf, at);
  if (leaf.count == 0) return RemoveLeaf(index);
  firsts_[index] = entries[0].begin;
  if (leaf.count < kLeaf / 4 && index + 1 < leaves_.size()) MergeWithNext(index);
}

// Sparse leaves become one: memory follows the number of ranges, not where they once were.
void RangeIndex::MergeWithNext(size_t index) {
  Leaf& low = *leaves_[index];
  const Leaf& high = *leaves_[index + 1];
  if (low.count + high.count > kLeaf / 2) return;
  std::copy(high.entries.begin(), high.entries.begin() + high.count,
            low.entries.begin() + low.count);
  const size_t from = std::exchange(low.count, low.count + high.count);
  Refresh(low, from);
  RemoveLeaf(index + 1);
}

void RangeIndex::RemoveLeaf(size_t index) {
  if (spare_.size() < kSpare) spare_.push_back(std::move(leaves_[index]));
  firsts_.erase(firsts_.begin() + static_cast<ptrdiff_t>(index));
  leaves_.erase(leaves_.begin() + static_cast<ptrdiff_t>(index));
}

void RangeIndex::Overlapping(uint64_t begin, uint64_t end, std::vector<Block*>& out) const {
  const Entry* entry = AtOrBefore(begin);
  if (entry == nullptr || entry->end <= begin) entry = Behind(begin);
  while (entry != nullptr && entry->begin < end) {
    out.push_back(entry->block);
    entry = Behind(entry->begin);
  }
}

}  // namespace ss
