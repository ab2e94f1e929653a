// NCCL that tells of its calls through its profiler interface: the same records as those of the
// intercepted calls, and never both.
#include <gtest/gtest.h>

#include "tests/cli/process.h"
#include "tests/nccl/judge.h"

namespace ss::test {
namespace {

// Linked statically and hidden: what NCCL tells through its profiler interface. `version` 0: nobody
// is told.
Watched RunHidden(const std::string& what, int version, const std::string& how = "") {
  RunOptions options = NcclOptions();
  options.environment.push_back("NCCL_STAND_IN_VERSION=" + std::to_string(version));
  options.environment.push_back("NCCL_STAND_IN_CASE=" + how);
  if (version)
    options.environment.push_back("NCCL_PROFILER_PLUGIN=" + Library("streamsan_capture"));
  Watched watched = ss::test::Run({Program("nccl_opened"), "hidden", what}, options);
  EXPECT_EQ(watched.status, 0) << watched.errors;
  return watched;
}

bool Noted(const Coverage& coverage, const std::string& beginning) {
  return std::any_of(coverage.notes.begin(), coverage.notes.end(),
                     [&](const std::string& note) { return note.starts_with(beginning); });
}

constexpr char kUnseen[] = "NCCL kernels launched outside";
constexpr char kNoLaunch[] = "operations that NCCL told of without their launch";

TEST(NcclStatic, UnseenCollectivesAreSaid) {
  Watched watched = RunHidden("races", 0);
  EXPECT_TRUE(watched.All<trace::NcclCall>().empty());
  Judged judged = Judge(watched).Verdict();
  EXPECT_FALSE(judged.coverage.complete);
  EXPECT_TRUE(Noted(judged.coverage, kUnseen));
}

class NcclTold : public ::testing::TestWithParam<int> {};

TEST_P(NcclTold, SaysWhatTheInterceptedCallsSay) {
  const int version = GetParam();
  Watched watched = RunHidden("all", version);
  auto printed = watched.Printed();
  EXPECT_EQ(Kinds(watched), (std::vector<uint64_t>{1, 2, 3, 9, 10, 4}));
  auto calls = watched.All<trace::NcclCall>();
  ASSERT_EQ(calls.size(), 6u);
  EXPECT_EQ(calls[0].send, printed["gradient"]);
  EXPECT_EQ(calls[0].receive, printed["gradient"]);
  EXPECT_EQ(calls[0].count, 1024u);
  EXPECT_EQ(calls[0].datatype, 7u);
  EXPECT_EQ(calls[0].peer, -1);
  EXPECT_EQ(calls[0].stream, version == 5 ? printed["comm"] : 0u);
  EXPECT_NE(calls[0].stack, 0u);
  EXPECT_EQ(calls[1].peer, 0);
  EXPECT_EQ(calls[2].peer, 3);
  EXPECT_EQ(calls[3].send, printed["gradient"]);
  EXPECT_EQ(calls[3].receive, 0u);
  EXPECT_EQ(calls[3].peer, 2);
  EXPECT_EQ(calls[4].receive, printed["other"]);
  EXPECT_EQ(calls[5].stream, version == 5 ? 1u : 0u);
  EXPECT_EQ(calls[5].count * (version == 5 ? 4 : 1), 4096u);
  auto comms = watched.All<trace::NcclComm>();
  ASSERT_EQ(comms.size(), 2u);
  EXPECT_EQ(comms[0].how, 6u);
  EXPECT_EQ(comms[0].rank, 1);
  EXPECT_EQ(comms[0].ranks, version >= 4 ? 4u : 0u);
  EXPECT_EQ(comms[0].identity, 0xC011EC7EDu);
  EXPECT_EQ(watched.All<trace::NcclCommEnd>().size(), 2u);
  auto ends = watched.All<trace::NcclGroupEnd>();
  ASSERT_EQ(ends.size(), 6u);
  for (const trace::NcclGroupEnd& end : ends) EXPECT_EQ(end.how, 3u);
}

// Version 5 names the stream, for the others it is the launch's.
TEST_P(NcclTold, RacesAreFound) {
  Judged judged = Judge(RunHidden("races", GetParam())).Verdict();
  ASSERT_EQ(judged.report.findings.size(), 1u);
  const Finding& finding = judged.report.findings[0];
  EXPECT_EQ(finding.code, "race-raw");
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
  EXPECT_EQ(finding.buffer.name, "gradient");
  EXPECT_EQ(finding.second.name, "ncclAllReduce");
  EXPECT_FALSE(Noted(judged.coverage, kUnseen));
  EXPECT_FALSE(Noted(judged.coverage, kNoLaunch));
}

TEST_P(NcclTold, WithTheWaitThereIsNone) {
  EXPECT_TRUE(Judge(RunHidden("waits", GetParam())).Verdict().report.findings.empty());
}

TEST_P(NcclTold, AnotherPartOfTheBufferIsNone) {
  EXPECT_TRUE(Judge(RunHidden("other-half", GetParam())).Verdict().report.findings.empty());
}

// A communicator that does not block: a thread of NCCL's launches, and tells.
TEST_P(NcclTold, AThreadOfItsOwnMayLaunch) {
  Judged judged = Judge(RunHidden("races", GetParam(), "helper")).Verdict();
  ASSERT_EQ(judged.report.findings.size(), 1u);
  EXPECT_EQ(judged.report.findings[0].second.name, "ncclAllReduce");
  EXPECT_FALSE(Noted(judged.coverage, kUnseen));
}

// What a graph replays is told of without a launch: no stream, so no operation, and that is said.
TEST_P(NcclTold, WithoutItsLaunchAnOperationIsLeftOut) {
  Watched watched = RunHidden("races", GetParam(), "replayed");
  EXPECT_FALSE(watched.All<trace::NcclCall>().empty());
  Judged judged = Judge(watched).Verdict();
  EXPECT_TRUE(judged.report.findings.empty());
  EXPECT_FALSE(judged.coverage.complete);
  EXPECT_TRUE(Noted(judged.coverage, kNoLaunch));
}

// Six launches, of which every other one is told of.
TEST_P(NcclTold, ALaunchOfWhichNothingIsToldIsSaid) {
  Watched watched = RunHidden("all", GetParam(), "every-other");
  EXPECT_EQ(Kinds(watched), (std::vector<uint64_t>{1, 3, 10}));
  Judged judged = Judge(watched).Verdict();
  EXPECT_FALSE(judged.coverage.complete);
  EXPECT_TRUE(Noted(judged.coverage, kUnseen));
  EXPECT_TRUE(std::any_of(judged.coverage.notes.begin(), judged.coverage.notes.end(),
                          [](const std::string& note) { return note.ends_with("not seen: 3"); }));
}

INSTANTIATE_TEST_SUITE_P(Versions, NcclTold, ::testing::Range(1, 6));

TEST(NcclToldOnce, CapturedCallsAreSaid) {
  Watched watched = RunHidden("races", 5, "captured");
  EXPECT_TRUE(watched.All<trace::NcclCall>().empty());
  EXPECT_EQ(watched.Unmodelled()["NCCL call captured into a graph, told by its profiler interface"],
            1u);
}

// The functions are intercepted: NCCL loads the plug-in, and is told to tell nothing.
TEST(NcclToldOnce, InterceptedCallsAreNotToldAgain) {
  for (int version = 1; version <= 5; ++version) {
    RunOptions options = NcclOptions();
    options.environment.push_back("NCCL_STAND_IN_VERSION=" + std::to_string(version));
    options.environment.push_back("NCCL_PROFILER_PLUGIN=" + Library("streamsan_capture"));
    Watched watched = ss::test::Run({Program("nccl_linked"), "all"}, options);
    ASSERT_EQ(watched.status, 0) << watched.errors;
    EXPECT_EQ(Kinds(watched), (std::vector<uint64_t>{1, 1, 2, 3, 9, 10, 4})) << version;
    EXPECT_TRUE(watched.All<trace::NcclPlugIn>().empty());
  }
}

// `streamsan run` names the plug-in, unless the user did.
Ran RunTool(Environment more) {
  const std::string library = SS_BINARY_DIR "/lib";
  more.emplace_back("LD_LIBRARY_PATH", library + "/nccl_stand_in:" + library + "/vgpu:" + library);
  return Tool({"run", "--", Program("nccl_opened"), "hidden", "races"}, more);
}

TEST(NcclRun, TheToolNamesThePlugIn) {
  unsetenv("NCCL_PROFILER_PLUGIN");
  Ran ran = RunTool({});
  EXPECT_EQ(ran.code, 66) << ran.err;
  EXPECT_TRUE(Has(ran.err, "ncclAllReduce")) << ran.err;
  EXPECT_FALSE(Has(ran.err, "collectives not seen")) << ran.err;
}

TEST(NcclRun, AnotherPlugInStays) {
  Ran ran = RunTool({{"NCCL_PROFILER_PLUGIN", "none"}});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.err, "collectives not seen")) << ran.err;
  EXPECT_TRUE(Has(Tool({"doctor"}, {{"NCCL_PROFILER_PLUGIN", "mine.so"}}).out, "mine.so"));
}

}  // namespace
}  // namespace ss::test
