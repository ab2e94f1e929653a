// The values of one moment: registers and local memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "src/kernels/tag_set.h"

namespace ss::kernels {

class State {
 public:
  explicit State(size_t registers = 0) : registers_(registers, kNothing) {}

  SetId Get(size_t slot) const { return slot < registers_.size() ? registers_[slot] : kNothing; }
  void Set(size_t slot, SetId value) {
    if (slot < registers_.size()) registers_[slot] = value;
  }

  // Local memory by offset from the stack pointer at entry, 4-byte words.
  SetId Local(int32_t offset) const {
    auto found = Lower(offset);
    return found != locals_.end() && found->first == offset ? found->second : kNothing;
  }
  void SetLocal(int32_t offset, SetId value) {
    auto found = locals_.begin() + (Lower(offset) - locals_.cbegin());
    if (found != locals_.end() && found->first == offset) found->second = value;
    else locals_.insert(found, {offset, value});
  }
  const std::vector<std::pair<int32_t, SetId>>& locals() const { return locals_; }
  SetId anywhere() const { return anywhere_; }  // stored at unknown offsets
  void set_anywhere(SetId value) { anywhere_ = value; }

  // Takes in what `other` may hold; true when that is new.
  bool Join(const State& other, TagPool& pool) {
    bool changed = false;
    auto merge = [&](SetId& mine, SetId its) {
      if (mine == its) return;
      SetId joined = pool.Join(mine, its);
      changed |= joined != mine;
      mine = joined;
    };
    for (size_t i = 0; i < registers_.size(); ++i) merge(registers_[i], other.registers_[i]);
    merge(anywhere_, other.anywhere_);
    for (const auto& [offset, value] : other.locals_) {
      SetId mine = Local(offset), before = mine;
      merge(mine, value);
      if (mine != before) SetLocal(offset, mine);
    }
    return changed;
  }

 private:
  std::vector<std::pair<int32_t, SetId>>::const_iterator Lower(int32_t offset) const {
    return std::lower_bound(locals_.begin(), locals_.end(), offset,
                            [](const auto& one, int32_t at) { return one.first < at; });
  }

  std::vector<SetId> registers_;
  std::vector<std::pair<int32_t, SetId>> locals_;
  SetId anywhere_ = kNothing;
};

}  // namespace ss::kernels
