// What rests on an assumption neither hides nor settles what does not.
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

void Weaken(Program& program, const std::string& kernel, Evidence direction, Evidence extent) {
  Op& op = Named(program, kernel);
  for (uint32_t i = 0; i < op.access_count; ++i) {
    program.accesses[op.access_begin + i].direction = direction;
    program.accesses[op.access_begin + i].extent = extent;
  }
}

std::vector<Finding> With(std::vector<Finding> findings, Confidence confidence) {
  std::erase_if(findings, [&](const Finding& finding) { return finding.confidence != confidence; });
  return findings;
}

// `maybe` comes after `writer`, and may not touch X at all: the reader races with `writer` itself.
constexpr char kCovered[] =
    "stream a\nstream b\nstream c\nalloc X 8K device\n"
    "a: kernel writer write X\n"
    "c: wait_stream a\n"
    "c: kernel maybe write X\n"
    "b: kernel reader read X\n";

TEST(Evidence, AProvenWriteStandsForWhatItReplaced) {
  std::vector<Finding> findings = FindingsOf(FromLitmus(kCovered));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].first.name, "maybe");
}

TEST(Evidence, AnAssumedWriteHidesNothing) {
  Program program = FromLitmus(kCovered);
  Weaken(program, "maybe", Evidence::kAssumed, Evidence::kAssumed);
  std::vector<Finding> findings = FindingsOf(program);
  std::vector<Finding> sure = With(findings, Confidence::kCertain);
  ASSERT_EQ(sure.size(), 1u);
  EXPECT_EQ(sure[0].first.name, "writer");
  EXPECT_EQ(With(findings, Confidence::kPossible).size(), 1u);
}

// Two slices of one block; how far the second pointer is followed is not known.
TEST(Evidence, AWriteOfUnknownExtentHidesOnlyWhatBeginsWhereItBegins) {
  Program program = FromLitmus(
      "stream a\nstream b\nstream c\nalloc X 8K device\n"
      "a: kernel writer write X[4K:8K]\n"
      "c: wait_stream a\n"
      "c: kernel other write X[0K:8K]\n"
      "b: kernel reader read X[4K:8K]\n");
  Weaken(program, "writer", Evidence::kStatic, Evidence::kAssumed);
  Weaken(program, "other", Evidence::kStatic, Evidence::kAssumed);
  Weaken(program, "reader", Evidence::kStatic, Evidence::kAssumed);
  std::vector<Finding> findings = FindingsOf(program);
  std::vector<Finding> likely = With(findings, Confidence::kLikely);
  ASSERT_EQ(likely.size(), 1u);
  EXPECT_EQ(likely[0].first.name, "writer");
}

// One edge from a to b would settle both; that the later one may not exist must not settle the
// first.
TEST(Evidence, AnAssumedAccessSettlesNothing) {
  Program program = FromLitmus(
      "stream a\nstream b\nalloc X 8K device\n"
      "a: kernel writer write X\n"
      "a: kernel maybe read X\n"
      "b: kernel overwriter write X\n");
  ASSERT_EQ(FindingsOf(program).size(), 1u);
  Weaken(program, "maybe", Evidence::kAssumed, Evidence::kAssumed);
  std::vector<Finding> findings = FindingsOf(program);
  std::vector<Finding> sure = With(findings, Confidence::kCertain);
  ASSERT_EQ(sure.size(), 1u);
  EXPECT_EQ(sure[0].first.name, "writer");
}

AnalyseOptions BeginningsOnly() {
  AnalyseOptions options;
  options.beginnings_only = true;
  return options;
}

// What is compared where it begins is found with the whole range, and what is not compared is said.
TEST(Evidence, WhereOnlyBeginningsAreComparedTheSamePointerIsEnough) {
  Program program = FromLitmus(
      "stream a\nstream b\nalloc X 8K device\n"
      "a: kernel writer write X\n"
      "a: kernel slice write X[4K:8K]\n"
      "b: kernel reader read X\n");
  for (const char* kernel : {"writer", "slice", "reader"}) {
    Weaken(program, kernel, Evidence::kStatic, Evidence::kAssumed);
  }
  EXPECT_EQ(FindingsOf(program).size(), 2u);
  Report report = AnalyseProgram(program, BeginningsOnly());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].first.name, "writer");
  EXPECT_EQ(report.findings[0].confidence, Confidence::kLikely);
  EXPECT_EQ(report.findings[0].buffer.begin, 0u);
  EXPECT_EQ(report.findings[0].buffer.end, 8192u);
  ASSERT_FALSE(report.coverage.notes.empty());
  EXPECT_NE(report.coverage.notes.back().find("where they begin: 3 "), std::string::npos);
}

TEST(Evidence, AKnownRangeThatHoldsThePointerIsCompared) {
  Program program = FromLitmus(
      "stream a\nstream b\nalloc X 8K device\n"
      "a: kernel writer write X\n"
      "b: kernel slice read X[4K:8K]\n");
  Weaken(program, "slice", Evidence::kStatic, Evidence::kAssumed);
  EXPECT_EQ(AnalyseProgram(program, BeginningsOnly()).findings.size(), 1u);
}

// Two words of one block by their own pointers; a third kernel is given the first one's.
TEST(Evidence, BytesThatTheCodeTellsAreApartOrMeetForLikely) {
  Program program = FromLitmus(
      "stream a\nstream b\nstream c\nalloc X 8K device\n"
      "a: kernel low write X[0:4]\n"
      "b: kernel high write X[4:8]\n"
      "c: kernel reader read X[0:4]\n");
  for (const char* kernel : {"low", "high", "reader"}) {
    Weaken(program, kernel, Evidence::kStatic, Evidence::kStatic);
  }
  std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].first.name, "low");
  EXPECT_EQ(findings[0].second.name, "reader");
  EXPECT_EQ(findings[0].confidence, Confidence::kLikely);
}

TEST(Evidence, AnAssumedUseOfAFreedBlockSettlesNothing) {
  Program program = FromLitmus(
      "stream a\nstream b\nalloc X 8K on a\n"
      "b: kernel user write X\n"
      "b: kernel maybe read X\n"
      "free X\n"
      "alloc Y 8K on a reuse X\n");
  Weaken(program, "maybe", Evidence::kAssumed, Evidence::kAssumed);
  std::vector<Finding> sure = With(FindingsOf(program), Confidence::kCertain);
  ASSERT_EQ(sure.size(), 1u);
  EXPECT_EQ(sure[0].first.name, "user");
}

}  // namespace
}  // namespace ss
