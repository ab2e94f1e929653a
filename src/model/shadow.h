// Shadow memory: per range of addresses, who touched it last (decision 5 of docs/architecture.md).
//
// One ordered map of cells over the whole address space. A cell is a maximal range with one
// history: the last plain write, and the reads and atomics since. Most accesses name exactly the
// bytes of one cell, so a direct-mapped cache in front of the map, at least twice as large as the
// map, answers them in one comparison (walking the map was a third of all time with 1,000 blocks).
// Rejected: a paged shadow as in ThreadSanitizer (blocks are megabytes and touched as wholes;
// 8-byte granules would be 10^6 times the work), and a map per allocation (storage outlives its
// tenants, and tenants split and merge).
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "src/model/clock.h"
#include "src/model/tenant.h"
#include "src/program/op.h"

namespace ss {

struct Entry {
  uint64_t epoch = 0;  // 0 = no entry
  uint64_t index = 0;  // position of the operation in the sequence
  uint64_t begin =
      0;  // where its access began: cells are cut, evidence about extents needs the start
  uint64_t end = 0;
  LaneId lane = 0;
  uint8_t mode : 4 = 0;   // AccessMode bits
  uint8_t apart : 1 = 0;  // a copy's reading, out of the order of its stream (rule 9)
  uint8_t done : 1 =
      0;                // of Cell::past: stands for what it replaced, and races with nothing itself
  uint8_t cpu : 1 = 0;  // host thread or host function
  uint8_t fill : 1 = 0;  // an allocator's initialising write
  uint8_t evidence = 0;  // direction | extent << 4
  ShapeId shape = 0;     // rows from `begin` on; 0 = all bytes of the range

  explicit operator bool() const { return epoch != 0; }
  // One piece of work. The reading of a copy may be another one than the rest.
  bool OneWith(const Entry& other) const { return index == other.index && apart == other.apart; }
  bool ProvenDirection() const {
    return (evidence & 0xf) != static_cast<uint8_t>(Evidence::kAssumed);
  }
  bool KnownExtent() const { return evidence >> 4 != static_cast<uint8_t>(Evidence::kAssumed); }
  void AssumeExtent() {
    evidence =
        static_cast<uint8_t>((evidence & 0xf) | static_cast<uint8_t>(Evidence::kAssumed) << 4);
  }
  // It did touch every byte of its range: what was there before it is over for who comes after it.
  bool Firm() const { return KnownExtent() && ProvenDirection() && shape == 0; }
  // Nothing of what it wrote over is left.
  bool Replaces() const { return (mode & kWrite) != 0 && Firm(); }
};

struct Cell {
  uint64_t end = 0;
  Tenant* tenant = nullptr;  // the newest
  Entry write;               // last plain write
  Entry since;               // the first of the reads and atomics after it; the others spill
  std::unique_ptr<std::vector<Entry>> more;
  // Replaced ones, kept where operations that are issued later may come before what replaced them.
  std::unique_ptr<std::vector<Entry>> past;

  // An entry that went, and whether that was for want of room.
  struct Displaced {
    Entry entry;
    bool for_room = false;
  };
  Cell Copy() const;
  // A write that left some of the cell's bytes alone, or may have: what was there before stays,
  // except what is `replaced` by it.
  template <typename F>
  Displaced AddWeakWrite(const Entry& entry, F replaced) {
    if (entry.ProvenDirection()) DropIf(replaced);
    if (!entry.ProvenDirection() || write) return AddSince(entry);
    write = entry;
    return {};
  }
  void ClearSince() {
    since = {};
    if (more) more->clear();
  }
  template <typename F>
  void ForEachSince(F f) {
    if (since) f(since);
    if (!more) return;
    for (Entry& entry : *more) f(entry);
  }
  // Keeps one entry a lane and kind (read, atomic, a kept write): a later one on the same lane
  // subsumes it. Where an access has gaps or only its beginning is known, one for each beginning,
  // up to kMaxBeginnings entries in all.
  static constexpr size_t kMaxBeginnings = 64;
  Displaced AddSince(const Entry& entry);
  template <typename F>
  void ForEachPast(F f) {
    if (!past) return;
    for (Entry& entry : *past) f(entry);
  }
  template <typename F>
  void DropIf(F drop);
};

class Shadow {
 public:
  using Map = std::map<uint64_t, Cell>;

  Shadow() : cache_(kSmallestCache, map_.end()) {}

  // Calls f(begin, cell) for the cells of [begin, end), cut at its ends. Returns the bytes that no
  // cell covers.
  template <typename F>
  uint64_t ForEach(uint64_t begin, uint64_t end, F f);
  // The cell that holds the address, or null. `begin` receives where it starts.
  Cell* Find(uint64_t address, uint64_t* begin = nullptr);
  // All of [begin, end) now belongs to the tenant; histories stay. Older tenants are appended to
  // `older`.
  void Define(uint64_t begin, uint64_t end, Tenant* tenant, std::vector<Tenant*>* older);
  void Erase(uint64_t begin, uint64_t end);
  // [begin, end), which cells cover without a gap, becomes one cell with just this write.
  void Collapse(uint64_t begin, uint64_t end, Tenant* tenant, const Entry& write);
  Map& cells() { return map_; }

 private:
  // Fibonacci hashing: blocks begin at multiples of large powers of two, so the low bits say
  // nothing.
  size_t Slot(uint64_t begin) const {
    return begin * 0x9e3779b97f4a7c15ull >> (64 - std::countr_zero(cache_.size()));
  }
  // The cell of exactly these bytes, if the cache knows it.
  Cell* Exact(uint64_t begin, uint64_t end) {
    auto cached = cache_[Slot(begin)];
    bool same = cached != map_.end() && cached->first == begin && cached->second.end == end;
    return same ? &cached->second : nullptr;
  }
  void Remember(Map::iterator cell) { cache_[Slot(cell->first)] = cell; }
  void GrowCache();
  Map::iterator Seek(uint64_t address);
  // Cells that reach over either end are split there. Returns the first cell at or behind `begin`.
  Map::iterator Cut(uint64_t begin, uint64_t end);
  // The part of the cell behind the address becomes a cell of its own, which is returned.
  Map::iterator Split(Map::iterator cell, uint64_t address);
  Map::iterator EraseCell(Map::iterator cell);

  static constexpr size_t kSmallestCache = 1024;  // a power of two, as all sizes of the cache

  Map map_;
  std::vector<Map::iterator> cache_;  // a cell that begins at an address is in its slot or nowhere
};

template <typename F>
void Cell::DropIf(F drop) {
  if (write && drop(write)) write = {};
  if (more) std::erase_if(*more, drop);
  if (past) std::erase_if(*past, drop);
  if (since && drop(since)) since = {};
  if (!since && more && !more->empty()) {
    since = more->back();
    more->pop_back();
  }
}

template <typename F>
uint64_t Shadow::ForEach(uint64_t begin, uint64_t end, F f) {
  if (Cell* cell = Exact(begin, end)) {
    f(begin, *cell);
    return 0;
  }
  auto it = Cut(begin, end);
  uint64_t uncovered = 0, at = begin;
  for (; it != map_.end() && it->first < end; ++it) {
    uncovered += it->first - at;
    at = it->second.end;
    Remember(it);
    f(it->first, it->second);
  }
  return uncovered + (end - at);
}

}  // namespace ss
