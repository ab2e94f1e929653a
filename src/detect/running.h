// The last piece of work of each stream: what a program that was killed, or that hangs, was at.
#pragma once

#include <cstddef>
#include <vector>

#include "src/model/order.h"

namespace ss {

class Running {
 public:
  void Note(const Step& step, size_t index) {
    if (step.stream == nullptr || step.epoch == 0) return;
    if (last_.size() <= step.lane) last_.resize(step.lane + 1);
    last_[step.lane] = {index, step.epoch};
  }
  // The stream is destroyed: its lane may become another one's.
  void Drop(LaneId lane) {
    if (lane < last_.size()) last_[lane] = {};
  }
  // Appends the positions of all of them.
  void Keep(std::vector<size_t>& ops) const {
    for (const Last& last : last_) {
      if (last.epoch != 0) ops.push_back(last.index);
    }
  }
  // Positions of the operations that no thread has seen the end of, in order.
  std::vector<size_t> Unseen(Order& order) const;

 private:
  struct Last {
    size_t index = 0;
    uint64_t epoch = 0;  // 0 = none
  };
  std::vector<Last> last_;  // by lane
};

}  // namespace ss
