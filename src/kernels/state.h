// The values of one moment: registers and local memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "src/kernels/tag_set.h"

namespace ss::kernels {

// A register written under a predicate: what it holds where the predicate is true, and where it is
// false.
struct GuardedValue {
  uint32_t slot = 0;
  uint8_t guard = 0;  // 0-7 P, 8-15 UP
  SetId when_true = kNothing, when_false = kNothing;
};

class State {
 public:
  explicit State(size_t registers = 0) : registers_(registers, kNothing) {}

  SetId Get(size_t slot) const { return slot < registers_.size() ? registers_[slot] : kNothing; }
  void Set(size_t slot, SetId value) {
    if (slot < registers_.size()) registers_[slot] = value;
  }

  // Compilers compute an address under a predicate and use it under the same one, blocks later;
  // without this every older value of the register would be written to as well.
  std::vector<GuardedValue>& guards() { return guards_; }
  const std::vector<GuardedValue>& guards() const { return guards_; }

  // Local memory by offset from the stack pointer at entry, 4-byte words.
  SetId Local(int32_t offset) const {
    auto found = Lower(offset);
    return found != locals_.end() && found->first == offset ? found->second : kNothing;
  }
  void SetLocal(int32_t offset, SetId value) {
    auto found = locals_.begin() + (Lower(offset) - locals_.cbegin());
    if (found != locals_.end() && found->first == offset)
      found->second = value;
    else
      locals_.insert(found, {offset, value});
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
    changed |= JoinGuards(other, pool);
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
  GuardedValue* Find(uint32_t slot, uint8_t guard) {
    for (GuardedValue& one : guards_) {
      if (one.slot == slot && one.guard == guard) return &one;
    }
    return nullptr;
  }

  // Where one side knows nothing, its register holds the same under both values of the predicate.
  // Before the registers themselves are joined.
  bool JoinGuards(const State& other, TagPool& pool) {
    if (guards_.empty() && other.guards_.empty()) return false;
    bool changed = false;
    auto add = [&](GuardedValue& mine, SetId when_true, SetId when_false) {
      SetId yes = pool.Join(mine.when_true, when_true), no = pool.Join(mine.when_false, when_false);
      changed |= yes != mine.when_true || no != mine.when_false;
      mine.when_true = yes;
      mine.when_false = no;
    };
    for (GuardedValue& mine : guards_) {
      const GuardedValue* its = const_cast<State&>(other).Find(mine.slot, mine.guard);
      SetId plain = other.Get(mine.slot);
      add(mine, its ? its->when_true : plain, its ? its->when_false : plain);
    }
    for (const GuardedValue& its : other.guards_) {
      bool known = std::any_of(guards_.begin(), guards_.end(),
                               [&](const GuardedValue& one) { return one.slot == its.slot; });
      if (known) continue;
      SetId plain = Get(its.slot), joined = pool.Join(plain, other.Get(its.slot));
      GuardedValue mine{its.slot, its.guard, pool.Join(plain, its.when_true),
                        pool.Join(plain, its.when_false)};
      if (mine.when_true == joined && mine.when_false == joined) continue;
      guards_.push_back(mine);
    }
    return changed;
  }

  std::vector<std::pair<int32_t, SetId>>::const_iterator Lower(int32_t offset) const {
    return std::lower_bound(locals_.begin(), locals_.end(), offset,
                            [](const auto& one, int32_t at) { return one.first < at; });
  }

  std::vector<SetId> registers_;
  std::vector<std::pair<int32_t, SetId>> locals_;
  std::vector<GuardedValue> guards_;
  SetId anywhere_ = kNothing;
};

}  // namespace ss::kernels
