// Orders the records of all threads of one process by seq_before, behind a watermark: the number
// below which everything has arrived. The file reader and the online analysis use the same queue;
// they differ in who knows the watermark (the index of the blocks; the collector, from the rings).
//
// Ties go by thread, then by arrival: the records of one thread that carry one number keep their
// order. A heap and not a merge of sorted threads: a call made inside another one (from a callback)
// is recorded before it and numbered after it, so the stream of one thread is not sorted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/trace/record.h"

namespace ss::trace {

class MergeQueue {
 public:
  // Beyond `max_records` waiting records the oldest are given out although something may still come
  // before them: memory stays bounded when a thread sits in one call for minutes.
  explicit MergeQueue(size_t max_records = kDefaultMax) : max_records_(max_records) {}

  void Add(Record record);
  // Everything with seq_before < watermark has been added. Never moves back.
  void Advance(uint64_t watermark);
  // The next record that is safe to give out (or must be, see above).
  std::optional<Record> Pop();

  size_t waiting() const { return heap_.size(); }
  uint64_t watermark() const { return watermark_; }
  // Records that came out after one with a higher number.
  uint64_t late() const { return late_; }

  static constexpr uint64_t kEverything = ~uint64_t{0};  // nothing follows
  static constexpr size_t kDefaultMax = size_t{1} << 20;

 private:
  // The heap moves these and not the records, whose variants are slow to move.
  struct Key {
    uint64_t seq;
    uint64_t arrival;
    uint32_t thread;
    uint32_t slot;
  };
  static bool Later(const Key& a, const Key& b);

  std::vector<Key> heap_;
  std::vector<Record> slots_;
  std::vector<uint32_t> free_slots_;
  size_t max_records_;
  uint64_t watermark_ = 0;
  uint64_t arrivals_ = 0;
  uint64_t highest_out_ = 0;
  uint64_t late_ = 0;
};

}  // namespace ss::trace
