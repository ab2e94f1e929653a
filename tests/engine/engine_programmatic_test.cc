// Programmatic launches as recorded programs know them (rule 13): kernels that touch memory on both
// sides of their grid-dependency wait, and kernels that let nobody start early.
#include <algorithm>

#include "tests/engine/from_litmus.h"

namespace ss {
namespace {

Op& Named(Program& program, const std::string& kernel) {
  for (Op& op : program.ops) {
    if (op.kind == OpKind::kKernel && program.strings.Get(op.name) == kernel) return op;
  }
  throw std::runtime_error("no kernel " + kernel);
}

std::vector<std::string> Pairs(const Program& program) {
  std::vector<std::string> pairs;
  for (const Finding& one : FindingsOf(program)) {
    pairs.push_back(one.code + " " + one.first.name + " " + one.second.name + " " +
                    Name(one.confidence));
  }
  return pairs;
}
using Strings = std::vector<std::string>;

// `early` and `rest` are one kernel, launched behind k1, which `early` does not wait for.
constexpr char kBothSides[] =
    "stream s\nalloc A 4K device\nalloc B 4K device\nalloc C 4K device\n"
    "s: kernel k1 write A write B\n"
    "s: pdl kernel early read A\n"
    "s: pdl_wait kernel rest read B write C\n"
    "s: kernel k3 read A read B read C write A write B write C\n";

TEST(Programmatic, OnlyWhatComesBeforeTheWaitIsUnordered) {
  Program program = FromLitmus(kBothSides);
  Named(program, "rest").flags |= kAfterGridWait;
  EXPECT_EQ(Pairs(program), (Strings{"race-raw k1 early certain"}));
}

TEST(Programmatic, WithoutItsOtherHalfAWaitCoversThePredecessorAlone) {
  const Program program = FromLitmus(kBothSides);
  EXPECT_EQ(Pairs(program), (Strings{"race-raw k1 early certain", "race-raw k1 rest certain"}));
}

TEST(Programmatic, TheMissingWaitIsTheFix) {
  Program program = FromLitmus(kBothSides);
  Named(program, "rest").flags |= kAfterGridWait;
  const std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 1u);
  const auto& fixes = findings[0].fixes;
  EXPECT_TRUE(std::any_of(fixes.begin(), fixes.end(), [](const Fix& fix) {
    return fix.kind == FixKind::kPdlWait && fix.verified;
  }));
  EXPECT_NE(findings[0].root_cause.find("before it waits"), std::string::npos)
      << findings[0].root_cause;
}

// The same with the fix, and with something early that nobody before it writes.
TEST(Programmatic, WhatIsReadyBeforeMayBeTouchedEarly) {
  Program fixed = FromLitmus(
      "stream s\nalloc A 4K device\nalloc W 4K device\n"
      "s: kernel k1 write A\n"
      "s: pdl kernel early read W\n"
      "s: pdl_wait kernel rest read A\n");
  Named(fixed, "rest").flags |= kAfterGridWait;
  EXPECT_EQ(Pairs(fixed), Strings{});
}

// One kernel on both sides of its wait is no race with itself, in place or not.
TEST(Programmatic, TheTwoPartsAreOneKernel) {
  Program program = FromLitmus(
      "stream s\nalloc A 4K device\nalloc B 4K device\n"
      "s: kernel k1 write B\n"
      "s: pdl kernel early read A\n"
      "s: pdl_wait kernel rest write A read B\n"
      "s: pdl_wait kernel k3 read A\n");
  Named(program, "rest").flags |= kAfterGridWait;
  EXPECT_EQ(Pairs(program), Strings{});
}

constexpr char kNoWait[] =
    "stream s\nalloc A 4K device\nalloc B 4K device\n"
    "s: kernel k1 write A\n"
    "s: pdl kernel k2 write B\n"
    "s: pdl kernel k3 read A\n";

TEST(Programmatic, WhatNeedsATriggerThatIsNotThereIsPossible) {
  Program program = FromLitmus(kNoWait);
  EXPECT_EQ(Pairs(program), (Strings{"race-raw k1 k3 certain"}));
  Named(program, "k1").flags |= kNoTrigger;
  EXPECT_EQ(Pairs(program), (Strings{"race-raw k1 k3 possible"}));
  const std::vector<std::string> evidence = FindingsOf(program).at(0).evidence;
  EXPECT_TRUE(std::any_of(evidence.begin(), evidence.end(), [](const std::string& one) {
    return one.find("before it has ended") != one.npos;
  }));
}

// k1 lets k2 start early, so that it may go on when k2 has ended.
TEST(Programmatic, OnlyTheKernelThatTriggersMatters) {
  Program program = FromLitmus(kNoWait);
  Named(program, "k2").flags |= kNoTrigger;
  EXPECT_EQ(Pairs(program), (Strings{"race-raw k1 k3 certain"}));
}

TEST(Programmatic, WhatIsPossibleSettlesNothing) {
  Program program = FromLitmus(
      "stream s\nstream t\nalloc A 4K device\n"
      "t: kernel k0 read A\n"
      "s: kernel k1 read A\n"
      "s: pdl kernel k2 write A\n");
  Named(program, "k1").flags |= kNoTrigger;
  EXPECT_EQ(Pairs(program), (Strings{"race-war k1 k2 possible", "race-war k0 k2 certain"}));
}

}  // namespace
}  // namespace ss
