// What the report says to change where ranks disagree, and that the ranks agree when it is done.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ranks/job.h"

namespace ss {
namespace {

std::string Change(const Body& body, int64_t ranks) {
  Job job;
  job.Ranks(ranks, body);
  const Json hazard = job.One();
  return hazard["change"].is_string() ? hazard["change"].get<std::string>() : "";
}

void BroadcastThenReduce(RankTrace& trace, int64_t) {
  trace.Call(kBroadcast, kWorld, kA, 0);
  trace.Call(kAllReduce, kWorld, kA);
  trace.Exit();
}

TEST(Change, TheRankThatDiffersFromMostIsReordered) {
  for (int64_t odd : {0, 2}) {
    auto body = [&](RankTrace& trace, int64_t rank) {
      rank == odd ? BroadcastThenReduce(trace, rank) : ReduceThenBroadcast(trace, rank);
    };
    const std::string change = Change(body, 4);
    EXPECT_EQ(change.find(fmt::format("on rank {}, issue allreduce", odd)), 0u) << change;
    EXPECT_TRUE(Has(change, " before broadcast")) << change;
    EXPECT_TRUE(Has(change, odd ? "as on ranks 0, 1 and 3" : "as on ranks 1, 2 and 3")) << change;
    EXPECT_FALSE(Has(change, "the other way round")) << change;
  }
  Job().Ranks(4, ReduceThenBroadcast).ExpectSilent();
}

TEST(Change, OfTwoEitherMayBeReordered) {
  const std::string change = Change(
      [](RankTrace& trace, int64_t rank) {
        rank ? BroadcastThenReduce(trace, rank) : ReduceThenBroadcast(trace, rank);
      },
      2);
  EXPECT_EQ(change.find("on rank 1, issue allreduce"), 0u) << change;
  EXPECT_TRUE(Has(change, "or the other way round on rank 0")) << change;
  Job().Ranks(2, BroadcastThenReduce).ExpectSilent();
}

TEST(Change, WhatIsMissingIsIssuedOrLeftOut) {
  const std::string change = Change(
      [](RankTrace& trace, int64_t rank) {
        trace.Call(kAllReduce, kWorld, kA);
        if (rank != 1) trace.Call(kBroadcast, kWorld, kA, 0);
        trace.Exit();
      },
      3);
  EXPECT_EQ(change.find("issue broadcast"), 0u) << change;
  EXPECT_TRUE(Has(change, "on rank 1 as well, or not on ranks 0 and 2")) << change;
  EXPECT_TRUE(Has(change, "on a communicator of theirs")) << change;
}

TEST(Change, AShapeThatDiffersFromMost) {
  auto sizes = [](int64_t odd) {
    return [odd](RankTrace& trace, int64_t rank) {
      trace.Call(kAllReduce, kWorld, kA, -1, rank == odd ? 32 : 64);
      trace.Exit();
    };
  };
  const std::string most = Change(sizes(1), 3), tie = Change(sizes(1), 2);
  EXPECT_EQ(
      most.find("on rank 1, issue allreduce of 256 bytes, float, sum as on ranks 0 and 2, and "
                "not allreduce of 128 bytes"),
      0u)
      << most;
  EXPECT_TRUE(Has(tie, "allreduce of 256 bytes") && Has(tie, "allreduce of 128 bytes")) << tie;
  EXPECT_TRUE(Has(tie, "on all ranks alike")) << tie;
}

// A rank that was ended may have been on its way: nothing is to be changed for that.
TEST(Change, NothingWhereItMayBeOnItsWay) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Call(kAllReduce, kWorld, kA);
    if (rank == 0) trace.Call(kBroadcast, kWorld, kA, 0);
    if (rank == 0) trace.Exit();
  });
  const Json report = job.Check({"--min-confidence", "possible"});
  ASSERT_EQ(report["hazards"].size(), 1u);
  EXPECT_EQ(report["hazards"][0]["confidence"], "possible");
  EXPECT_TRUE(report["hazards"][0]["change"].is_null());
}

}  // namespace
}  // namespace ss
