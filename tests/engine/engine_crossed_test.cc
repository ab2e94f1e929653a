// Programs whose signals order operations against the order of issue (rule 11). One place that is
// written again and again: what was replaced is kept only where it can still meet something.
#include "tests/engine/from_litmus.h"

namespace ss {
namespace {

constexpr int kRounds = 4200;  // more than a cell keeps

enum class Issued { kInTurns, kConsumerFirst, kProducerWhole };

std::string Pack(int round) {
  const std::string n = std::to_string(round);
  return "a: kernel pack write X\na: signal F " + n + "\na: await G " + n + "\n";
}

std::string Use(int round) {
  const std::string n = std::to_string(round);
  return "b: await F " + n + "\nb: kernel use read X write X\nb: signal G " + n + "\n";
}

std::string PingPong(Issued issued) {
  std::string text = "stream a\nstream b\nalloc X 4K device\n", consumer;
  for (int round = 1; round <= kRounds; ++round) {
    if (issued == Issued::kConsumerFirst) text += Use(round);
    text += Pack(round);
    if (issued == Issued::kInTurns) text += Use(round);
    if (issued == Issued::kProducerWhole) consumer += Use(round);
  }
  return text + consumer;
}

Report ReportOf(const std::string& text) {
  AnalyseOptions options;
  options.verify = false;
  return AnalyseProgram(FromLitmus(text), options);
}

TEST(Replaced, ThousandsOfRoundsAreFollowedToTheirEnd) {
  for (Issued issued : {Issued::kInTurns, Issued::kConsumerFirst}) {
    const Report report = ReportOf(PingPong(issued));
    EXPECT_TRUE(report.findings.empty());
    EXPECT_TRUE(report.coverage.complete);
  }
}

TEST(Replaced, TheLastRoundMeetsWhatNobodyWaitsFor) {
  const Report report = ReportOf(PingPong(Issued::kInTurns) +
                                 "stream c\nc: kernel late read X\nb: kernel more read X\n");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].code, "race-raw");
  EXPECT_EQ(report.findings[0].first.name, "use");
  EXPECT_EQ(report.findings[0].second.name, "late");
}

// All of one stream's rounds are issued before the other one's: each of those meets all of these.
TEST(Replaced, WhatThereIsNoRoomForIsTold) {
  const Report report = ReportOf(PingPong(Issued::kProducerWhole));
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.coverage.complete);
}

// Each writes one column of a matrix of 1 KiB rows, and leaves gaps.
std::string Columns(int count) {
  std::string text = "stream a\nstream b\nalloc X 64K device\n";
  for (int column = 0; column < count; ++column) {
    const std::string begin = std::to_string(column * 4), end = std::to_string(column * 4 + 4);
    text += "a: kernel write write X[" + begin + ":" + end + " pitch 1K rows 64]\n";
  }
  return text;
}

TEST(Replaced, ColumnsAreKeptApart) {
  const std::string fixed = "a: record E\nb: wait E\n", read = "b: kernel read read X\n";
  const Report silent = ReportOf(Columns(60) + fixed + read);
  EXPECT_TRUE(silent.coverage.complete);
  EXPECT_TRUE(silent.findings.empty());
  EXPECT_EQ(ReportOf(Columns(60) + read).findings.size(), 1u);
  EXPECT_FALSE(ReportOf(Columns(70) + fixed + read).coverage.complete);
}

TEST(Unsettled, WhatIsBehindWaitsForEachOtherIsLikelyAtMost) {
  const std::string circle = "stream a\nstream b\nalloc X 4K device\na: await F 1\na: signal G 1\n";
  const std::string writes = "a: kernel first write X\nb: kernel second write X\n";
  const Report report = ReportOf(circle + "b: await G 1\nb: signal F 1\n" + writes);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].confidence, Confidence::kLikely);
  EXPECT_TRUE(report.findings[0].unsettled);
  EXPECT_FALSE(report.coverage.complete);
  const Report settled = ReportOf(circle + "b: signal F 1\n" + writes);
  ASSERT_EQ(settled.findings.size(), 1u);
  EXPECT_EQ(settled.findings[0].confidence, Confidence::kCertain);
}

}  // namespace
}  // namespace ss
