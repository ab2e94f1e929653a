#include "src/model/shadow.h"

#include <algorithm>
#include <utility>

namespace ss {

Cell Cell::Copy() const {
  Cell copy;
  copy.end = end;
  copy.tenant = tenant;
  copy.write = write;
  copy.since = since;
  if (more && !more->empty()) copy.more = std::make_unique<std::vector<Entry>>(*more);
  if (past && !past->empty()) copy.past = std::make_unique<std::vector<Entry>>(*past);
  return copy;
}

Cell::Displaced Cell::AddSince(const Entry& entry) {
  auto alike = [&](const Entry& other) {
    constexpr uint8_t kKind = kAtomic | kWrite;
    return other.lane == entry.lane && (other.mode & kKind) == (entry.mode & kKind);
  };
  auto same = [&](const Entry& other) {
    if (!alike(other)) return false;
    return entry.Firm() || (other.begin == entry.begin && other.shape == entry.shape);
  };
  if (!since || same(since)) return {std::exchange(since, entry)};
  if (!more) more = std::make_unique<std::vector<Entry>>();
  auto place = std::find_if(more->begin(), more->end(), same);
  const bool full = place == more->end() && more->size() >= kMaxBeginnings;
  if (full) place = std::find_if(more->begin(), more->end(), alike);
  if (place != more->end()) return {std::exchange(*place, entry), full};
  more->push_back(entry);
  return {};
}

// The first cell that ends after the address.
Shadow::Map::iterator Shadow::Seek(uint64_t address) {
  auto it = map_.upper_bound(address);
  if (it != map_.begin() && std::prev(it)->second.end > address) --it;
  return it;
}

Cell* Shadow::Find(uint64_t address, uint64_t* begin) {
  auto cached = cache_[Slot(address)];
  auto it = cached != map_.end() && cached->first == address ? cached : Seek(address);
  if (it == map_.end() || it->first > address) return nullptr;
  if (begin != nullptr) *begin = it->first;
  return &it->second;
}

Shadow::Map::iterator Shadow::Split(Map::iterator cell, uint64_t address) {
  Cell tail = cell->second.Copy();
  cell->second.end = address;
  return map_.emplace_hint(std::next(cell), address, std::move(tail));
}

// Mostly the range is one cell that the cache has lost: one walk down the map is enough then.
Shadow::Map::iterator Shadow::Cut(uint64_t begin, uint64_t end) {
  auto first = Seek(begin);
  if (first == map_.end()) return first;
  if (first->first < begin) first = Split(first, begin);
  auto last = first->second.end >= end ? first : Seek(end);
  if (last != map_.end() && last->first < end && last->second.end > end) Split(last, end);
  return first;
}

Shadow::Map::iterator Shadow::EraseCell(Map::iterator cell) {
  auto& slot = cache_[Slot(cell->first)];
  if (slot == cell) slot = map_.end();
  return map_.erase(cell);
}

void Shadow::GrowCache() {
  cache_.assign(cache_.size() * 2, map_.end());
  for (auto it = map_.begin(); it != map_.end(); ++it) Remember(it);
}

void Shadow::Define(uint64_t begin, uint64_t end, Tenant* tenant, std::vector<Tenant*>* older) {
  if (Cell* cell = Exact(begin, end)) {
    if (cell->tenant != nullptr) older->push_back(cell->tenant);
    cell->tenant = tenant;
    return;
  }
  uint64_t at = begin;
  auto it = Cut(begin, end);
  while (at < end) {
    if (it == map_.end() || it->first > at) {
      uint64_t stop = it == map_.end() ? end : std::min(end, it->first);
      it = map_.emplace_hint(it, at, Cell{});
      it->second.end = stop;
    } else if (it->second.tenant != nullptr &&
               std::find(older->begin(), older->end(), it->second.tenant) == older->end()) {
      older->push_back(it->second.tenant);
    }
    it->second.tenant = tenant;
    at = it->second.end;
    Remember(it);
    ++it;
  }
  if (map_.size() * 2 > cache_.size()) GrowCache();
}

void Shadow::Erase(uint64_t begin, uint64_t end) {
  auto it = Cut(begin, end);
  while (it != map_.end() && it->first < end) it = EraseCell(it);
}

void Shadow::Collapse(uint64_t begin, uint64_t end, Tenant* tenant, const Entry& write) {
  auto it = map_.find(begin);
  for (auto next = std::next(it); next != map_.end() && next->first < end;) next = EraseCell(next);
  it->second = Cell{};
  it->second.end = end;
  it->second.tenant = tenant;
  it->second.write = write;
}

}  // namespace ss
