// Two operations of one rank that are in order by way of another rank's NCCL calls.
#include <gtest/gtest.h>

#include "tests/ranks/job.h"

namespace ss {
namespace {

constexpr uint64_t kTarget = 0x7e0000000000;
constexpr uint64_t kFar = 0x7d0000000000;

void Write(RankTrace& trace, uint64_t stream) {
  trace.Put(trace::view::Memset{
      .destination = kTarget, .bytes = 4096, .stream = stream, .context = kContext});
}

// Rank 0 writes on A, sends on A; receives on B, writes on B.
void ThereAndBack(RankTrace& trace) {
  trace.Put(trace::view::Alloc{.address = kTarget, .bytes = 4096, .kind = 1, .context = kContext});
  Write(trace, kA);
  trace.Call(kSend, kWorld, kA, 1);
  trace.Call(kRecv, kWorld, kB, 1);
  Write(trace, kB);
  trace.Exit();
}

void Answer(RankTrace& trace, uint64_t hears, uint64_t answers) {
  trace.Call(kRecv, kWorld, hears, 0);
  trace.Call(kSend, kWorld, answers, 0);
  trace.Exit();
}

bool Notes(const Json& report, const std::string& text) {
  for (const Json& note : report["coverage"]["notes"]) {
    if (Has(note.get<std::string>(), text)) return true;
  }
  return false;
}

TEST(OrderThroughRank, AMessageThereAndBackOrders) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    rank == 0 ? ThereAndBack(trace) : Answer(trace, kA, kA);
  });
  Json report = job.Check();
  EXPECT_EQ(report["hazards"].size(), 0u) << report["hazards"].dump(1);
  EXPECT_TRUE(Notes(report, "other ranks' NCCL calls put them in order: 1"));
}

// The other rank answers on another stream, which does not wait for what it was sent.
TEST(OrderThroughRank, AnAnswerThatDoesNotWaitOrdersNothing) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    rank == 0 ? ThereAndBack(trace) : Answer(trace, kA, kB);
  });
  Json hazard = job.One();
  EXPECT_EQ(hazard["code"], "race-waw");
  EXPECT_EQ(hazard["second"]["rank"], 0);
}

// The other rank's own hazard is its own.
TEST(OrderThroughRank, EachRanksHazardsAreToldApart) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank == 0) return ThereAndBack(trace);
    trace.Put(
        trace::view::Alloc{.address = kTarget, .bytes = 4096, .kind = 1, .context = kContext});
    Write(trace, kA);
    Write(trace, kB);
    Answer(trace, kA, kA);
  });
  Json hazard = job.One();
  EXPECT_EQ(hazard["code"], "race-waw");
  EXPECT_EQ(hazard["second"]["rank"], 1);
}

// What would have to be kept grows with the operations times the streams of all ranks.
TEST(OrderThroughRank, ManyOperationsOnManyStreamsAreNotFollowed) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank == 1) return Answer(trace, kA, kA);
    for (uint64_t stream = 0; stream < 1'000; ++stream) {
      const uint64_t handle = 0x10000 + stream;
      trace.Put(trace::view::StreamCreate{.stream = handle, .context = kContext, .flags = 1});
      trace.Put(trace::view::Memset{.destination = kFar + stream * 4096,
                                    .bytes = 4096,
                                    .stream = handle,
                                    .context = kContext});
    }
    for (uint64_t i = 0; i < 210'000; ++i) {
      trace.Put(trace::view::Memset{
          .destination = kFar - 4096, .bytes = 4096, .stream = kA, .context = kContext});
    }
    ThereAndBack(trace);
  });
  const Json report = job.Check();
  EXPECT_EQ(report["hazards"].size(), 1u) << report["hazards"].dump(1);
  EXPECT_TRUE(Notes(report, "calls was not followed: the ranks have 21")) << report["coverage"];
  EXPECT_TRUE(Notes(report, "streams and threads, more than fit")) << report["coverage"];
}

// One trace alone: the order is not known.
TEST(OrderThroughRank, WithoutTheOtherRankItStands) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    rank == 0 ? ThereAndBack(trace) : Answer(trace, kA, kA);
  });
  fs::remove(job.Path(1));
  Json report = job.Check();
  EXPECT_EQ(report["hazards"].size(), 1u);
}

// Which of a group's calls meets which of another rank's is not told.
TEST(OrderThroughRank, GroupsOfSeveralKindsAreNotFollowed) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    auto both = [&](uint64_t stream) {
      trace.Begin();
      trace.Call(kSend, kWorld, stream, 1 - rank);
      trace.Call(kRecv, kWorld, stream, 1 - rank);
      trace.End();
    };
    if (rank == 1) {
      both(kA);
      both(kA);
      return trace.Exit();
    }
    trace.Put(
        trace::view::Alloc{.address = kTarget, .bytes = 4096, .kind = 1, .context = kContext});
    Write(trace, kA);
    both(kA);
    both(kB);
    Write(trace, kB);
    trace.Exit();
  });
  EXPECT_EQ(job.One()["code"], "race-waw");
}

}  // namespace
}  // namespace ss
