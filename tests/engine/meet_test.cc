// Rows with gaps against every byte of them.
#include "src/model/meet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace ss {
namespace {

std::set<uint64_t> BytesOf(const Touched& touched) {
  std::set<uint64_t> starts = {touched.begin};
  const uint64_t row = touched.shape == nullptr ? touched.end - touched.begin : touched.shape->row;
  if (touched.shape != nullptr) {
    for (const Shape::Level& level : touched.shape->levels) {
      const std::set<uint64_t> inside = starts;
      for (uint64_t i = 1; i < level.count; ++i) {
        for (uint64_t start : inside) starts.insert(start + i * level.pitch);
      }
    }
  }
  std::set<uint64_t> bytes;
  for (uint64_t start : starts) {
    for (uint64_t at = start; at < start + row && at < touched.end; ++at) bytes.insert(at);
  }
  return bytes;
}

bool MeetByBytes(const Touched& a, const Touched& b, uint64_t from, uint64_t until) {
  const std::set<uint64_t> others = BytesOf(b);
  for (uint64_t at : BytesOf(a)) {
    if (from <= at && at < until && others.contains(at)) return true;
  }
  return false;
}

class Random {
 public:
  uint64_t Between(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(engine_);
  }
  // `gap`: the smallest between two rows.
  Shape AnyShape(int levels, uint64_t gap = 0) {
    Shape shape{Between(1, 6), {}};
    for (int level = 0; level < levels; ++level) {
      const uint64_t pitch = shape.Span() + Between(gap, 5);
      shape = Repeated(shape, pitch, Between(1, 4)).value();
    }
    return shape;
  }
  // Sometimes cut at its end, as accesses to a part of a block are.
  Touched Place(const Shape& shape) {
    const uint64_t begin = Between(100, 140);
    const uint64_t cut = Between(0, 9) == 0 ? Between(0, shape.Span() - 1) : 0;
    return {begin, begin + shape.Span() - cut, shape.levels.empty() ? nullptr : &shape};
  }

 private:
  std::mt19937_64 engine_{2026};
};

TEST(Meet, IsWhatTheBytesSay) {
  Random random;
  size_t apart = 0, meet = 0;
  for (int i = 0; i < 60000; ++i) {
    const Shape first = random.AnyShape(static_cast<int>(random.Between(0, 3)));
    // Most real pairs are parts of one thing, so of one pitch.
    Shape second = random.AnyShape(static_cast<int>(random.Between(0, 3)));
    if (random.Between(0, 1) != 0) second = first;
    const Touched a = random.Place(first), b = random.Place(second);
    const uint64_t from = random.Between(90, 200), until = from + random.Between(1, 150);
    const bool wanted = MeetByBytes(a, b, from, until);
    ++(wanted ? meet : apart);
    ASSERT_EQ(Meet(a, b, from, until), wanted ? Meeting::kMeet : Meeting::kApart) << i;
    ASSERT_EQ(Meet(b, a, from, until), wanted ? Meeting::kMeet : Meeting::kApart) << i;
  }
  EXPECT_GT(apart, 10000u);
  EXPECT_GT(meet, 10000u);
}

TEST(Meet, CoversSaysYesOnlyOfWhatIsCovered) {
  Random random;
  size_t said = 0;
  for (int i = 0; i < 60000; ++i) {
    const Shape outer = random.AnyShape(static_cast<int>(random.Between(0, 2)), 1);
    Shape inner = random.AnyShape(static_cast<int>(random.Between(0, 2)));
    if (random.Between(0, 1) != 0) {
      inner = outer;
      inner.row = random.Between(1, outer.row);
    }
    const Touched a = random.Place(outer), b = random.Place(inner);
    const std::set<uint64_t> covering = BytesOf(a), covered = BytesOf(b);
    const bool all =
        std::includes(covering.begin(), covering.end(), covered.begin(), covered.end());
    const bool yes = Covers(a, b);
    said += yes;
    ASSERT_TRUE(all || !yes) << i;
    // Of a cut one the rows behind its end may be missed, and make a yes a no.
    const bool whole = b.end == b.begin + inner.Span();
    ASSERT_TRUE(yes || !all || !whole) << i;
  }
  EXPECT_GT(said, 1000u);
}

TEST(Meet, ACutOneIsCoveredByTheSameOneThatIsNot) {
  const Shape rows = Repeated({16, {}}, 32, 4).value();
  const Touched whole{0, rows.Span(), &rows}, cut{0, 40, &rows};
  EXPECT_TRUE(Covers(whole, cut));
  EXPECT_FALSE(Covers(cut, whole));
}

// A pitch of its own each, and more rows than are looked at: it is not known, and said so.
TEST(Meet, IsUnknownWhereThereAreTooManyRows) {
  const Shape even = Repeated({1, {}}, 4, 100000).value();
  const Shape odd = Repeated({1, {}}, 6, 100000).value();
  const Touched a{0, even.Span(), &even}, b{1, 1 + odd.Span(), &odd};
  EXPECT_EQ(Meet(a, b, 0, 1000), Meeting::kApart);
  EXPECT_EQ(Meet(a, b, 0, 1000000), Meeting::kUnknown);
  // Two of one pitch take no more time for having many rows.
  const Touched c{1, 1 + even.Span(), &even};
  EXPECT_EQ(Meet(a, c, 0, 1000000), Meeting::kApart);
}

TEST(Shape, RowsWithoutGapsAreOneRow) {
  EXPECT_EQ(Repeated({16, {}}, 16, 4)->row, 64u);
  EXPECT_TRUE(Repeated({16, {}}, 16, 4)->levels.empty());
  // Slices that follow each other as rows do are more rows.
  const Shape rows = Repeated({16, {}}, 32, 4).value();
  EXPECT_EQ(Repeated(rows, 128, 2)->levels, (std::vector<Shape::Level>{{32, 8}}));
  EXPECT_EQ(Repeated(rows, 256, 2)->levels.size(), 2u);
}

TEST(Shape, WhatLiesInOneAnotherOrOverflowsIsNone) {
  const Shape rows = Repeated({16, {}}, 32, 4).value();
  EXPECT_FALSE(Repeated(rows, 48, 2));
  EXPECT_FALSE(Repeated(rows, 0, 2));
  EXPECT_FALSE(Repeated(rows, 256, 0));
  EXPECT_FALSE(Repeated(rows, 256, UINT64_MAX));
  EXPECT_FALSE(Repeated(rows, UINT64_MAX, 2));
}

TEST(Shape, ATableGivesEachFormOneNumber) {
  ShapeTable table;
  const Shape rows = Repeated({16, {}}, 32, 4).value();
  EXPECT_EQ(table.Intern({16, {}}), ShapeId{0});
  EXPECT_EQ(table.Intern(rows), ShapeId{1});
  EXPECT_EQ(table.Intern(rows), ShapeId{1});
  EXPECT_EQ(table.Get(1), rows);
  for (uint64_t count = 5; count < 5 + 65534; ++count) {
    ASSERT_TRUE(table.Intern(Repeated({16, {}}, 32, count).value()));
  }
  EXPECT_FALSE(table.Intern(Repeated({16, {}}, 64, 2).value()));
  EXPECT_EQ(table.Intern(rows), ShapeId{1});
}

}  // namespace
}  // namespace ss
