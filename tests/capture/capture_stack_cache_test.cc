// Stacks written into an array: what the cache takes for known is what was added, whatever else
// was.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "src/capture/stack_cache.h"

namespace ss::capture {
namespace {

struct Fake {
  std::vector<uint64_t> addresses;
  std::vector<size_t> frames;  // in words
};

class Thread {
 public:
  Thread() : cache_(StackCache::New(), StackCache::Delete), words_(1 << 10) {}

  void Write(const Fake& stack) {
    size_t at = 0;
    slots_.clear();
    std::fill(words_.begin(), words_.end(), 0);
    for (size_t i = 0; i < stack.addresses.size(); ++i) {
      words_[at] = stack.addresses[i];
      slots_.push_back(reinterpret_cast<uint64_t>(&words_[at]));
      at += stack.frames[i];
    }
    last_ = stack;
  }
  void Add(uint64_t id) {
    cache_->Add({last_.addresses.data(), slots_.data(), slots_.size()}, cfa(), id);
  }
  uint64_t Find() const {
    const void* caller = reinterpret_cast<const void*>(words_[0]);
    return cache_->Find(caller, cfa(), reinterpret_cast<uintptr_t>(&words_[0] + words_.size()));
  }
  void Overwrite(size_t frame, uint64_t address) {
    *reinterpret_cast<uint64_t*>(slots_[frame]) = address;
  }

 private:
  uintptr_t cfa() const { return reinterpret_cast<uintptr_t>(&words_[1]); }

  std::unique_ptr<StackCache, void (*)(StackCache*)> cache_;
  std::vector<uint64_t> words_;
  std::vector<uint64_t> slots_;
  Fake last_;
};

// Each function has one size of frame. Stacks of one call share what lies at both of their ends.
Fake Random(std::mt19937& random, size_t variety) {
  Fake stack;
  size_t depth = 3 + random() % (kMaxFrames - 3);
  for (size_t i = 0; i < depth; ++i) {
    uint64_t function = i == 0 ? 0 : 1 + random() % variety;
    stack.addresses.push_back(0x400000 + function * 0x1000);
    stack.frames.push_back(2 + function % 13);
  }
  stack.addresses.push_back(0x100);  // where a thread begins: no stack is the beginning of another
  stack.frames.push_back(2);
  return stack;
}

TEST(StackCache, FindsWhatWasAddedAndNothingElse) {
  for (size_t variety : {1, 2, 3, 50}) {
    Thread thread;
    std::mt19937 random(7);
    std::map<std::vector<uint64_t>, uint64_t> known;
    std::vector<Fake> stacks;
    for (uint64_t id = 1; id <= 2000; ++id) {
      stacks.push_back(Random(random, variety));
      thread.Write(stacks.back());
      if (random() % 4 == 0) continue;  // never added
      uint64_t& mine = known[stacks.back().addresses];
      if (mine == 0) thread.Add(mine = id);
    }
    for (const Fake& stack : stacks) {
      thread.Write(stack);
      auto at = known.find(stack.addresses);
      EXPECT_EQ(thread.Find(), at == known.end() ? 0 : at->second);
    }
  }
}

TEST(StackCache, OneOtherAddressAnywhereIsAnotherStack) {
  Thread thread;
  std::mt19937 random(3);
  Fake stack = Random(random, 40);
  thread.Write(stack);
  thread.Add(1);
  EXPECT_EQ(thread.Find(), 1u);
  for (size_t frame = 1; frame < stack.addresses.size(); ++frame) {
    thread.Overwrite(frame, stack.addresses[frame] + 5);
    EXPECT_EQ(thread.Find(), 0u) << frame;
    thread.Overwrite(frame, stack.addresses[frame]);
  }
  EXPECT_EQ(thread.Find(), 1u);
}

TEST(StackCache, HundredsOfStacksOfOneCallAreKept) {
  Thread thread;
  auto operator_number = [](uint64_t number) {
    return Fake{{0x1000, 0x2000, 0x400000 + number, 0x3000, 0x4000}, {8, 8, 8, 8, 8}};
  };
  for (uint64_t number = 1; number <= 500; ++number) {
    thread.Write(operator_number(number));
    thread.Add(number);
  }
  for (uint64_t number = 1; number <= 500; ++number) {
    thread.Write(operator_number(number));
    EXPECT_EQ(thread.Find(), number);
  }
}

TEST(StackCache, AFrameOfChangingSizeIsNotTakenForAnother) {
  Thread thread;
  Fake narrow{{0x1000, 0x2000, 0x3000, 0x4000}, {4, 4, 4, 4}}, wide = narrow;
  wide.frames[1] = 9;
  wide.addresses[2] = 0x7000;
  thread.Write(narrow);
  thread.Add(1);
  thread.Write(wide);
  thread.Add(2);
  EXPECT_NE(thread.Find(), 1u);
  thread.Write(narrow);
  EXPECT_EQ(thread.Find(), 1u);
}

TEST(StackCache, BeginsAnewWhenItIsFull) {
  Thread thread;
  for (uint64_t number = 1; number <= 40000; ++number) {
    thread.Write({{0x1000, 0x400000 + number, 0x5000}, {3, 3, 3}});
    thread.Add(number);
    ASSERT_EQ(thread.Find(), number);
  }
}

}  // namespace
}  // namespace ss::capture
