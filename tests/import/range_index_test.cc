// The address index against a plain ordered map, over random insertions and removals.
#include "src/import/range_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "src/import/memory_map.h"

namespace ss {
namespace {

class Model {
 public:
  using Map = std::map<uint64_t, RangeIndex::Entry>;

  void Check(const RangeIndex& index, uint64_t address) const {
    auto next = map.upper_bound(address);
    const RangeIndex::Entry* behind = index.Behind(address);
    ASSERT_EQ(behind == nullptr, next == map.end());
    if (behind != nullptr) {
      ASSERT_EQ(behind->begin, next->first);
    }
    const RangeIndex::Entry* before = index.AtOrBefore(address);
    ASSERT_EQ(before == nullptr, next == map.begin());
    if (before != nullptr) {
      ASSERT_EQ(before->block, std::prev(next)->second.block);
    }
  }
  std::vector<Block*> Overlapping(uint64_t begin, uint64_t end) const {
    std::vector<Block*> found;
    for (const auto& [at, entry] : map) {
      if (entry.begin < end && begin < entry.end) found.push_back(entry.block);
    }
    return found;
  }
  Map map;
};

// Grows to thousands of ranges, shrinks to a few, grows again: leaves split, merge and go.
TEST(RangeIndex, AgreesWithAMap) {
  std::mt19937_64 random(7);
  std::vector<Block> blocks(4096);
  RangeIndex index;
  Model model;
  for (int step = 0; step < 60'000; ++step) {
    const size_t slot = random() % blocks.size();
    const uint64_t begin = 1000 + 16 * slot;
    const bool shrinking = step / 10'000 % 2 == 1;
    if (model.map.contains(begin)) {
      if (shrinking || random() % 4 == 0) {
        index.Erase(begin);
        model.map.erase(begin);
      }
    } else if (!shrinking || random() % 32 == 0) {
      const RangeIndex::Entry entry{begin, begin + 1 + random() % 16, &blocks[slot]};
      index.Insert(entry);
      model.map[begin] = entry;
    }
    ASSERT_EQ(index.size(), model.map.size());
    model.Check(index, 900 + random() % (16 * blocks.size() + 200));
    if (step % 97 == 0) {
      const uint64_t from = random() % (16 * blocks.size()), to = from + random() % 3000;
      std::vector<Block*> found;
      index.Overlapping(from, to, found);
      ASSERT_EQ(found, model.Overlapping(from, to)) << step;
    }
  }
  size_t visited = 0;
  index.ForEach([&](const RangeIndex::Entry& entry) {
    ASSERT_TRUE(model.map.contains(entry.begin));
    ++visited;
  });
  EXPECT_EQ(visited, model.map.size());
}

}  // namespace
}  // namespace ss
