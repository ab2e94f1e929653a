// `streamsan check DIR` over the traces of several ranks: what they owe each other (rules 23, 24).
#include <gtest/gtest.h>

#include "tests/ranks/job.h"

namespace ss {
namespace {

TEST(Ranks, OrderThatDiffers) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank == 0) return ReduceThenBroadcast(trace, rank);
    trace.Call(kBroadcast, kWorld, kA, 0);
    trace.Call(kAllReduce, kWorld, kA);
    trace.Exit();
  });
  Json hazard = job.One();
  EXPECT_EQ(hazard["code"], "collective-order");
  EXPECT_EQ(hazard["confidence"], "certain");
  EXPECT_EQ(hazard["buffer"]["name"], "comm#0 (ranks 0-1)");
  EXPECT_EQ(hazard["first"]["name"], "allreduce");
  EXPECT_EQ(hazard["first"]["rank"], 0);
  EXPECT_EQ(hazard["second"]["name"], "broadcast");
  EXPECT_EQ(hazard["second"]["rank"], 1);
  EXPECT_EQ(hazard["root_cause"],
            "the 1. operation is allreduce of 256 bytes, float, sum on rank 0 and broadcast of 256 "
            "bytes, float, root 0 on rank 1");
}

TEST(Ranks, TheSameOrderIsSilent) { Job().Ranks(3, ReduceThenBroadcast).ExpectSilent(); }

// Each communicator has its own order; streams of their own wait for nobody.
TEST(Ranks, TwoCommunicatorsOnTwoStreamsAreSilent) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Call(kAllReduce, rank ? kWorld : kOther, rank ? kA : kB);
    trace.Call(kAllReduce, rank ? kOther : kWorld, rank ? kB : kA);
    trace.Exit();
  });
  job.ExpectSilent();
}

TEST(Ranks, TwoCommunicatorsOnOneStreamAreACircle) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Call(kAllReduce, rank ? kWorld : kOther, kA);
    trace.Call(kAllReduce, rank ? kOther : kWorld, kA);
    trace.Exit();
  });
  Json report = job.Check();
  ASSERT_EQ(report["hazards"].size(), 2u);  // one a communicator
  EXPECT_EQ(report["hazards"][0]["code"], "collective-order");
  EXPECT_TRUE(Has(report["hazards"][0]["root_cause"], "circle with communicator comm#1"));
}

// What is in one group goes on together, whatever the order in it.
TEST(Ranks, OneGroupOverTwoCommunicatorsIsSilent) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Begin();
    trace.Call(kAllReduce, rank ? kWorld : kOther, kA);
    trace.Call(kAllReduce, rank ? kOther : kWorld, kA);
    trace.End();
    trace.Call(kAllReduce, kWorld, kA);
    trace.Exit();
  });
  job.ExpectSilent();
}

TEST(Ranks, KindsCountsTypesAndRootsMustAgree) {
  struct Case {
    uint64_t kind, count, datatype;
    int64_t root;
    bool same;
  };
  for (const Case& other :
       {Case{kBroadcast, 64, kFloat, 0, true}, Case{kReduce, 64, kFloat, 0, false},
        Case{kBroadcast, 32, kFloat, 0, false}, Case{kBroadcast, 128, 6 /* half */, 0, false},
        Case{kBroadcast, 64, kFloat, 1, false}}) {
    Job job;
    job.Ranks(2, [&](RankTrace& trace, int64_t rank) {
      const Case& mine = rank ? other : Case{kBroadcast, 64, kFloat, 0, true};
      trace.Call(mine.kind, kWorld, kA, mine.root, mine.count, mine.datatype);
      trace.Exit();
    });
    if (other.same) {
      job.ExpectSilent();
    } else {
      EXPECT_EQ(job.One()["code"], "collective-mismatch");
    }
  }
}

// NCCL leaves them out.
TEST(Ranks, EmptyCollectivesNeedNoCounterpart) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank) trace.Call(kAllReduce, kWorld, kA, -1, 0);
    ReduceThenBroadcast(trace, rank);
  });
  job.ExpectSilent();
}

TEST(Ranks, ARankThatNeverCalls) {
  Job job;
  job.Ranks(3, [](RankTrace& trace, int64_t rank) {
    trace.Call(kAllReduce, kWorld, kA);
    if (rank != 1) trace.Call(kBroadcast, kWorld, kA, 0);
    trace.Exit();
  });
  Json hazard = job.One();
  EXPECT_EQ(hazard["code"], "collective-mismatch");
  EXPECT_EQ(hazard["confidence"], "certain");
  EXPECT_EQ(hazard["first"]["name"], "broadcast");
  EXPECT_EQ(hazard["second"]["rank"], 1);
  EXPECT_EQ(hazard["second"]["name"], "nothing after allreduce");
}

// A rank that was killed might have gone on: it need not be a bug.
TEST(Ranks, ARankThatWasEnded) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Call(kAllReduce, kWorld, kA);
    if (rank == 0) trace.Call(kBroadcast, kWorld, kA, 0);
    if (rank == 0) trace.Exit();
  });
  EXPECT_EQ(job.Check()["hazards"].size(), 0u);
  EXPECT_EQ(job.Check()["hidden"]["below_confidence"], 1);
  Json report = job.Check({"--min-confidence", "possible"});
  ASSERT_EQ(report["hazards"].size(), 1u);
  EXPECT_TRUE(Has(report["hazards"][0]["root_cause"], "ended before"));
}

// What a rank asked for counts, although the call hangs.
TEST(Ranks, ACallThatNeverReturned) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank == 0) trace.Call(kAllReduce, kWorld, kA, -1, 64, kFloat, false);
    if (rank == 1) trace.Call(kBroadcast, kWorld, kA, 0, 64, kFloat, false);
  });
  Json hazard = job.One();
  EXPECT_EQ(hazard["code"], "collective-mismatch");
  EXPECT_EQ(hazard["first"]["name"], "allreduce");
  EXPECT_EQ(hazard["second"]["name"], "broadcast");
}

TEST(Ranks, MessagesMeetInPairs) {
  Job job;
  job.Ranks(3, [](RankTrace& trace, int64_t rank) {
    if (rank == 0) trace.Call(kSend, kWorld, kA, 1, 8);
    if (rank == 1) trace.Call(kRecv, kWorld, kA, 0, 8);
    if (rank == 1) trace.Call(kSend, kWorld, kB, 2, 16);
    if (rank == 2) trace.Call(kRecv, kWorld, kA, 1, 16);
    trace.Exit();
  });
  job.ExpectSilent();
}

TEST(Ranks, MessagesOfDifferentSizes) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Call(rank ? kRecv : kSend, kWorld, kA, 1 - rank, rank ? 8 : 16);
    trace.Exit();
  });
  Json hazard = job.One();
  EXPECT_EQ(hazard["code"], "collective-mismatch");
  EXPECT_EQ(hazard["root_cause"], "rank 0 sends 64 bytes, rank 1 receives 32");
}

TEST(Ranks, AMessageThatNobodyReceives) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank == 0) trace.Call(kSend, kWorld, kA, 1);
    trace.Exit();
  });
  EXPECT_EQ(job.One()["root_cause"],
            "rank 0 issues send of 256 bytes, float, peer 1 and rank 1 has no counterpart");
}

// Both send first, and neither gets to its receive unless the messages are small.
TEST(Ranks, ExchangeWithoutAGroupIsACircle) {
  for (bool grouped : {false, true}) {
    Job job;
    job.Ranks(2, [&](RankTrace& trace, int64_t rank) {
      if (grouped) trace.Begin();
      trace.Call(kSend, kWorld, kA, 1 - rank);
      trace.Call(kRecv, kWorld, kA, 1 - rank);
      if (grouped) trace.End();
      trace.Exit();
    });
    if (grouped) {
      job.ExpectSilent();
    } else {
      Json hazard = job.One();
      EXPECT_EQ(hazard["code"], "collective-order");
      EXPECT_EQ(hazard["confidence"], "likely");
    }
  }
}

// Four ranks in two halves that do different things.
void Halves(RankTrace& trace, int64_t rank, bool wrong) {
  const int64_t half = rank / 2;
  trace.Split(0xD000, kWorld, half, rank % 2, 2);
  if (half == 0 && !(wrong && rank == 1)) trace.Call(kAllReduce, 0xD000, kA);
  trace.Call(kBroadcast, 0xD000, kA, 0);
  if (half == 0 && wrong && rank == 1) trace.Call(kAllReduce, 0xD000, kA);
  trace.Call(kAllReduce, kWorld, kA);
  trace.Exit();
}

TEST(Ranks, SplitCommunicatorsAreToldApartByTheirColor) {
  Job right;
  right.Ranks(4, [](RankTrace& trace, int64_t rank) { Halves(trace, rank, false); });
  right.ExpectSilent();
  Job wrong;
  wrong.Ranks(4, [](RankTrace& trace, int64_t rank) { Halves(trace, rank, true); });
  Json hazard = wrong.One();
  EXPECT_EQ(hazard["code"], "collective-order");
  EXPECT_TRUE(Has(hazard["buffer"]["name"], "(ranks 0-1)"));
}

TEST(Ranks, TheSecondSplitOfAColorIsAnotherCommunicator) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    trace.Split(0xD000, kWorld, 0, rank, 2);
    trace.Split(0xE000, kWorld, 0, rank, 2);
    trace.Call(kAllReduce, rank ? 0xD000 : 0xE000, rank ? kA : kB);
    trace.Call(kBroadcast, rank ? 0xE000 : 0xD000, rank ? kB : kA, 0);
    trace.Exit();
  });
  EXPECT_EQ(job.Check()["hazards"].size(), 2u);
}

TEST(Ranks, WhoIsNotThereIsSaid) {
  Job job;
  job.Ranks(2, ReduceThenBroadcast);
  fs::remove(job.Path(1));
  Json report = job.Check();
  EXPECT_EQ(report["hazards"].size(), 0u);
  EXPECT_FALSE(report["coverage"]["complete"].get<bool>());
  EXPECT_EQ(report["coverage"]["notes"][0],
            "comm#0 (ranks 0): 1 of its 2 ranks are here; what the others called is not known");
}

TEST(Ranks, CallsAreNotComparedWhereSomeAreLost) {
  Job job;
  job.Ranks(2, [](RankTrace& trace, int64_t rank) {
    if (rank) trace.Put(trace::view::Dropped{.count = 3});
    if (!rank) trace.Call(kBroadcast, kWorld, kA, 0);
    ReduceThenBroadcast(trace, rank);
  });
  Json report = job.Check({"--min-confidence", "possible"});
  EXPECT_EQ(report["hazards"].size(), 0u);
  EXPECT_TRUE(Has(report["coverage"]["notes"].dump(), "calls were not compared"));
}

// Threads take the traces as they come; what is printed is in the order of the files.
TEST(Ranks, TheReportIsTheSameEachTime) {
  Job job;
  job.Ranks(24, [](RankTrace& trace, int64_t rank) {
    for (int i = 0; i < 50 + rank % 3; ++i) trace.Call(kAllReduce, kWorld, kA);
    trace.Exit();
  });
  auto report = [&] {
    Json all = job.Check();
    all["stats"].erase("seconds");
    return all.dump();
  };
  const std::string first = report();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(report(), first);
}

TEST(Ranks, AnUnreadableTraceIsNamed) {
  Job job;
  job.Ranks(3, ReduceThenBroadcast);
  std::ofstream(job.Path(1)) << "no trace";
  Ran ran = Tool({"check", job.folder()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, job.Path(1))) << ran.err;
}

#ifdef SS_MPIRUN
// Of MPICH, and of Open MPI: which does not start for root, nor more processes than processors,
// unless it is told to, and which has a word of its own to say where a program's code is not 0.
Ran UnderMpirun(const std::vector<std::string>& words) {
  std::vector<std::string> command{SS_MPIRUN, "-n", "4", SS_BINARY_DIR "/bin/streamsan"};
  command.insert(command.end(), words.begin(), words.end());
  Ran ran = Spawn(command, {{"HYDRA_LAUNCHER", "fork"},
                            {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                            {"OMPI_MCA_rmaps_base_oversubscribe", "1"}});
  const size_t own = ran.err.find("-----------");
  if (own != std::string::npos) ran.err.resize(own);
  return ran;
}

// Four processes share the traces; the first one prints what one alone does, and all end with its
// code.
TEST(Ranks, UnderMpirunTheAnswerIsTheSame) {
  Job job;
  job.Ranks(7, [](RankTrace& trace, int64_t rank) {
    trace.Call(kAllReduce, kWorld, kA);
    if (rank == 3) return;
    ReduceThenBroadcast(trace, rank);
  });
  RankTrace(job.folder() + "/lone.sst", -1).Exit();
  const std::vector<std::string> check{"check", "--min-confidence", "possible", job.folder()};
  const Ran ran = UnderMpirun(check);
  EXPECT_EQ(ran.code, 66);
  EXPECT_EQ(ran.err, Tool(check).err);
  std::ofstream(job.Path(5)) << "no trace";
  EXPECT_EQ(UnderMpirun(check).err, Tool(check).err);
}
#endif

}  // namespace
}  // namespace ss
