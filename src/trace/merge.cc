#include "src/trace/merge.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ss::trace {

bool MergeQueue::Later(const Key& a, const Key& b) {
  return std::tie(a.seq, a.thread, a.arrival) > std::tie(b.seq, b.thread, b.arrival);
}

void MergeQueue::Add(Record record) {
  Key key{record.seq_before, arrivals_++, record.thread, static_cast<uint32_t>(slots_.size())};
  if (free_slots_.empty()) {
    slots_.push_back(std::move(record));
  } else {
    key.slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[key.slot] = std::move(record);
  }
  heap_.push_back(key);
  std::push_heap(heap_.begin(), heap_.end(), Later);
}

void MergeQueue::Advance(uint64_t watermark) { watermark_ = std::max(watermark_, watermark); }

std::optional<Record> MergeQueue::Pop() {
  if (heap_.empty()) return std::nullopt;
  bool safe = watermark_ == kEverything || heap_.front().seq < watermark_;
  if (!safe && heap_.size() <= max_records_) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  Key key = heap_.back();
  heap_.pop_back();
  free_slots_.push_back(key.slot);
  if (key.seq < highest_out_) ++late_;
  highest_out_ = std::max(highest_out_, key.seq);
  return std::move(slots_[key.slot]);
}

}  // namespace ss::trace
