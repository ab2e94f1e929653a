// The operations that something may still refer to, by position in the sequence. Old operations go
// in chunks; the few that are still referred to move to a side table, so memory follows live state.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/program/op.h"

namespace ss {

class OpLog {
 public:
  static constexpr size_t kChunk = 8192;

  size_t Append(const Op& op) {
    if (end_ % kChunk == 0) AddChunk();
    chunks_.back()->push_back(op);
    return end_++;
  }
  const Op& Get(size_t index) const {
    if (index >= begin_) return (*chunks_[(index - begin_) / kChunk])[index % kChunk];
    return survivors_.at(index);
  }
  size_t size() const { return end_; }

  // Forgets everything before the last chunk but `live` (positions, in any order).
  void Forget(const std::vector<size_t>& live) {
    if (chunks_.size() < 2) return;
    std::unordered_map<size_t, Op> kept;
    size_t cut = begin_ + (chunks_.size() - 1) * kChunk;
    for (size_t index : live) {
      if (index < cut) kept.emplace(index, Get(index));
    }
    survivors_ = std::move(kept);
    for (auto chunk = chunks_.begin(); chunk != chunks_.end() - 1; ++chunk) {
      (*chunk)->clear();
      spare_.push_back(std::move(*chunk));
    }
    chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    begin_ = cut;
  }

 private:
  void AddChunk() {
    if (spare_.empty()) {
      spare_.push_back(std::make_unique<std::vector<Op>>());
      spare_.back()->reserve(kChunk);
    }
    chunks_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }

  std::deque<std::unique_ptr<std::vector<Op>>> chunks_;
  std::vector<std::unique_ptr<std::vector<Op>>>
      spare_;  // so that pages are not given back and taken again
  std::unordered_map<size_t, Op> survivors_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace ss
