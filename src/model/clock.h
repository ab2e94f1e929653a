// A dense vector clock: per lane, the last epoch whose completion is known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ss {

using LaneId = uint32_t;

class Clock {
 public:
  uint64_t Get(LaneId lane) const { return lane < epochs_.size() ? epochs_[lane] : 0; }

  // Returns whether anything was learned.
  bool Raise(LaneId lane, uint64_t epoch) {
    if (Get(lane) >= epoch) return false;
    if (lane >= epochs_.size()) epochs_.resize(lane + 1, 0);
    epochs_[lane] = epoch;
    return true;
  }

  // Forgets what is later.
  void Limit(LaneId lane, uint64_t epoch) {
    if (lane < epochs_.size()) epochs_[lane] = std::min(epochs_[lane], epoch);
  }

  bool Covers(const Clock& other) const {
    for (size_t i = 0; i < other.epochs_.size(); ++i) {
      if (other.epochs_[i] > Get(static_cast<LaneId>(i))) return false;
    }
    return true;
  }

  // The same, but for one lane: what a stream knows of its own lane need not be in its clock.
  bool CoversBut(LaneId own, const Clock& other) const {
    for (size_t i = 0; i < other.epochs_.size(); ++i) {
      if (other.epochs_[i] > Get(static_cast<LaneId>(i)) && i != own) return false;
    }
    return true;
  }

  void Join(const Clock& other) {
    if (other.epochs_.size() > epochs_.size()) epochs_.resize(other.epochs_.size(), 0);
    for (size_t i = 0; i < other.epochs_.size(); ++i) {
      epochs_[i] = std::max(epochs_[i], other.epochs_[i]);
    }
  }

  bool operator==(const Clock&) const = default;
  size_t size() const { return epochs_.size(); }
  void Clear() { epochs_.clear(); }  // keeps its memory

 private:
  std::vector<uint64_t> epochs_;
};

}  // namespace ss
