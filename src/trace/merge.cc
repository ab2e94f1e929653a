#include "src/trace/merge.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ss::trace {

bool MergeQueue::Later(const Item& a, const Item& b) {
  return std::tie(a.record.seq_before, a.record.thread, a.arrival) >
         std::tie(b.record.seq_before, b.record.thread, b.arrival);
}

void MergeQueue::Add(Record record) {
  heap_.push_back({arrivals_++, std::move(record)});
  std::push_heap(heap_.begin(), heap_.end(), Later);
}

void MergeQueue::Advance(uint64_t watermark) { watermark_ = std::max(watermark_, watermark); }

std::optional<Record> MergeQueue::Pop() {
  if (heap_.empty()) return std::nullopt;
  bool safe = watermark_ == kEverything || heap_.front().record.seq_before < watermark_;
  if (!safe && heap_.size() <= max_records_) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  Record record = std::move(heap_.back().record);
  heap_.pop_back();
  if (record.seq_before < highest_out_) ++late_;
  highest_out_ = std::max(highest_out_, record.seq_before);
  return record;
}

}  // namespace ss::trace
