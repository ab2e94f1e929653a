// NCCL's functions through the capture library: forwarded unharmed, recorded once.
#include <gtest/gtest.h>

#include "tests/nccl/judge.h"

namespace ss::test {
namespace {

enum class How { kLinked, kOpened, kHandle };

Watched RunIt(How how, const std::string& what) {
  if (how == How::kLinked) return ss::test::Run({Program("nccl_linked"), what}, NcclOptions());
  const std::string way = how == How::kHandle ? "handle" : "opened";
  return ss::test::Run({Program("nccl_opened"), way, what}, NcclOptions());
}

class Nccl : public ::testing::TestWithParam<How> {};

TEST_P(Nccl, RecordsEveryCallOnce) {
  Watched watched = RunIt(GetParam(), "all");
  ASSERT_EQ(watched.status, 0) << watched.errors;
  auto printed = watched.Printed();
  EXPECT_EQ(printed["refused"], 4u);
  EXPECT_EQ(printed["kernels"], 6u);
  EXPECT_EQ(Kinds(watched), (std::vector<uint64_t>{1, 1, 2, 3, 9, 10, 4}));
  auto calls = watched.All<trace::NcclCall>();
  ASSERT_EQ(calls.size(), 7u);
  EXPECT_EQ(calls[0].comm, printed["world"]);
  EXPECT_EQ(calls[0].send, printed["gradient"]);
  EXPECT_EQ(calls[0].receive, printed["gradient"]);
  EXPECT_EQ(calls[0].count, 1024u);
  EXPECT_EQ(calls[0].datatype, 7u);
  EXPECT_EQ(calls[0].stream, printed["comm"]);
  EXPECT_EQ(calls[0].peer, -1);
  EXPECT_NE(calls[0].stack, 0u);
  EXPECT_EQ(calls[2].peer, 0);
  EXPECT_EQ(calls[3].peer, 3);
  EXPECT_EQ(calls[6].stream, 1u);  // 0 is the legacy default stream
  EXPECT_EQ(calls[4].group, calls[5].group);
  EXPECT_NE(calls[3].group, calls[4].group);
}

TEST_P(Nccl, GroupsEndOnceAndWithTheirResult) {
  Watched watched = RunIt(GetParam(), "all");
  auto ends = watched.All<trace::NcclGroupEnd>();
  auto calls = watched.All<trace::NcclCall>();
  ASSERT_EQ(ends.size(), 6u);
  ASSERT_EQ(calls.size(), 7u);
  EXPECT_EQ(ends[0].group, calls[0].group);
  EXPECT_EQ(ends[0].result, 0);
  EXPECT_EQ(ends[0].how, 0u);
  EXPECT_EQ(ends[1].result, 4);
  EXPECT_EQ(ends[4].group, calls[4].group);
  EXPECT_EQ(ends[4].how, 1u);
  EXPECT_EQ(ends[4].calls, 2u);
}

TEST_P(Nccl, CommunicatorsAreIntroduced) {
  Watched watched = RunIt(GetParam(), "all");
  auto comms = watched.All<trace::NcclComm>();
  ASSERT_EQ(comms.size(), 2u);
  EXPECT_EQ(comms[0].comm, watched.Printed()["world"]);
  EXPECT_EQ(comms[0].how, 1u);
  EXPECT_EQ(comms[0].rank, 1);
  EXPECT_EQ(comms[0].ranks, 4u);
  EXPECT_NE(comms[0].identity, 0u);
  EXPECT_EQ(comms[1].how, 2u);
  EXPECT_EQ(comms[1].parent, comms[0].comm);
  EXPECT_EQ(comms[1].color, 7);
  EXPECT_EQ(comms[1].rank, 1);
  EXPECT_EQ(comms[1].ranks, 2u);
  auto ends = watched.All<trace::NcclCommEnd>();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].comm, comms[1].comm);
  EXPECT_EQ(ends[1].comm, comms[0].comm);
}

// Its kernels are marked; its copies, events and waits are not the program's.
TEST_P(Nccl, WhatItQueuesItselfIsNotTheProgram) {
  Watched watched = RunIt(GetParam(), "all");
  auto launches = watched.All<trace::Launch>();
  EXPECT_EQ(launches.size(), 6u);
  for (const trace::Launch& launch : launches) EXPECT_EQ(launch.kind, 4u);
  EXPECT_TRUE(watched.All<trace::Copy>().empty());
  EXPECT_TRUE(watched.All<trace::EventRecord>().empty());
  EXPECT_TRUE(watched.All<trace::StreamWaitEvent>().empty());
  EXPECT_TRUE(watched.All<trace::StreamSync>().empty());
  size_t program = 0, by_nccl = 0;
  for (const trace::Alloc& alloc : watched.All<trace::Alloc>()) {
    program += alloc.is_private == 0;
    by_nccl += alloc.address == watched.Printed()["memory"] && alloc.bytes == 512;
  }
  EXPECT_EQ(program, 3u);  // two buffers and ncclMemAlloc's
  EXPECT_EQ(by_nccl, 1u);
  EXPECT_EQ(watched.All<trace::Alloc>().size(), 5u);
  EXPECT_EQ(watched.All<trace::Free>().size(), 3u);
}

TEST_P(Nccl, CountsCallsByName) {
  Watched watched = RunIt(GetParam(), "all");
  auto counters = watched.Counters();
  EXPECT_EQ(counters["ncclAllReduce"], 2u);
  EXPECT_EQ(counters["ncclBcast"], 1u);
  EXPECT_EQ(counters["ncclBroadcast"], 0u);  // NCCL's own call
  EXPECT_EQ(counters["ncclGroupEnd"], 2u);
  EXPECT_EQ(counters["cuLaunchKernel"], 6u);
  EXPECT_EQ(counters["cuDestroyExternalMemory"], 3u);
  EXPECT_EQ(watched.Unmodelled()["cuDestroyExternalMemory"], 1u);  // the program's own
}

TEST_P(Nccl, ForwardsUnwatched) {
  RunOptions options = NcclOptions();
  options.with_socket = false;
  std::vector<std::string> command{Program("nccl_linked"), "all"};
  if (GetParam() != How::kLinked) {
    command = {Program("nccl_opened"), GetParam() == How::kHandle ? "handle" : "opened", "all"};
  }
  Watched watched = ss::test::Run(command, options);
  ASSERT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.Printed()["refused"], 4u);
  EXPECT_EQ(watched.Printed()["kernels"], 6u);
  EXPECT_TRUE(watched.records.empty());
}

std::string NameOf(const ::testing::TestParamInfo<How>& way) {
  const char* names[] = {"Linked", "Opened", "Handle"};
  return names[static_cast<int>(way.param)];
}
INSTANTIATE_TEST_SUITE_P(Ways, Nccl, ::testing::Values(How::kLinked, How::kOpened, How::kHandle),
                         NameOf);

TEST(NcclAbsent, NothingLooksAsIfThereWereOne) {
  Watched watched = ss::test::Run({Program("nccl_opened"), "absent"}, NcclOptions());
  ASSERT_EQ(watched.status, 0) << watched.errors;
  for (const auto& [name, found] : watched.Printed()) EXPECT_EQ(found, 0u) << name;
  EXPECT_EQ(watched.Printed().size(), 6u);
}

TEST(NcclSecond, StaysAmongItself) {
  Watched watched = ss::test::Run({Program("nccl_opened"), "second"}, NcclOptions());
  ASSERT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.Printed()["in_first"], 1u);
  EXPECT_EQ(watched.Printed()["in_second"], 2u);
  EXPECT_EQ(watched.Unmodelled()["NCCL function of a second library"], 3u);
}

Judged JudgeRun(How how, const std::string& what) {
  Watched watched = RunIt(how, what);
  EXPECT_EQ(watched.status, 0) << watched.errors;
  return Judge(watched).Verdict();
}

TEST(NcclOrder, ReducingWhatIsStillWrittenIsARace) {
  Judged judged = JudgeRun(How::kOpened, "races");
  ASSERT_EQ(judged.report.findings.size(), 1u);
  const Finding& finding = judged.report.findings[0];
  EXPECT_EQ(finding.code, "race-raw");
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
  EXPECT_EQ(finding.buffer.name, "gradient");
  EXPECT_EQ(finding.second.name, "ncclAllReduce");
  EXPECT_TRUE(judged.coverage.complete) << ::testing::PrintToString(judged.coverage.notes);
}

TEST(NcclOrder, WithTheWaitThereIsNone) {
  EXPECT_TRUE(JudgeRun(How::kOpened, "waits").report.findings.empty());
}

TEST(NcclOrder, AnotherPartOfTheBufferIsNone) {
  EXPECT_TRUE(JudgeRun(How::kOpened, "other-half").report.findings.empty());
}

}  // namespace
}  // namespace ss::test
