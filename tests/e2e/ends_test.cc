// Every way in which a program goes on or ends; and traces cut at any place.
#include <fstream>

#include "tests/e2e/session.h"

namespace ss::e2e {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kCalls = 200;

Ran RunSteady(const Session& session, const std::string& how) {
  return Spawn(session.Command({"run", "-o", session / "traces"}, kCalls, how),
               Session::OnVirtualGpu());
}

std::vector<Kept> Traces(const Session& session) {
  std::vector<Kept> traces;
  for (const auto& entry : fs::directory_iterator(session / "traces")) {
    traces.push_back(ReadTrace(entry.path()));
  }
  return traces;
}

void ExpectWhole(const Session& session, size_t processes) {
  std::vector<Kept> traces = Traces(session);
  EXPECT_EQ(traces.size(), processes);
  for (const Kept& kept : traces) {
    EXPECT_EQ(kept.calls.size(), kCalls);
    ExpectUnbroken(kept.calls);
    EXPECT_TRUE(kept.stats.Complete());
  }
}

TEST(Ends, AllCallsAreThereHoweverItEnds) {
  struct {
    const char* how;
    int code;
  } kWays[] = {{"exit", kSteadyCode}, {"_exit", kSteadyCode}, {"abort", 128 + SIGABRT}};
  for (auto [how, code] : kWays) {
    SCOPED_TRACE(how);
    Session session;
    Ran ran = RunSteady(session, how);
    EXPECT_EQ(ran.code, code);
    EXPECT_TRUE(Has(ran.err, "0 hazards")) << ran.err;
    ExpectWhole(session, 1);
  }
}

TEST(Ends, AForkedImageAndAnExecutedOneHaveTracesOfTheirOwn) {
  for (const char* how : {"fork", "exec"}) {
    SCOPED_TRACE(how);
    Session session;
    EXPECT_EQ(RunSteady(session, how).code, kSteadyCode);
    ExpectWhole(session, 2);
  }
}

TEST(Ends, AForkedChildThatOnlyExitsIsNoProcessOfTheReport) {
  Session session;
  EXPECT_EQ(RunSteady(session, "forkonly").code, kSteadyCode);
  ExpectWhole(session, 1);
}

// Main returns with work queued and threads at work: an exit like any other, with the tool and
// without.
TEST(Ends, LeavingMainEarlyIsNoCrash) {
  std::vector<std::string> alone = {SS_BINARY_DIR "/bin/leaving"};
  std::vector<std::string> watched = {SS_BINARY_DIR "/bin/streamsan", "run", "--", alone[0]};
  for (const char* policy : {"eager", "lazy", "random"}) {
    Environment environment = Session::OnVirtualGpu();
    environment.push_back({"VGPU_SCHED", policy});
    environment.push_back({"VGPU_IDLE_MS", "1"});
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Spawn(alone, environment).code, 3) << policy;
      EXPECT_EQ(Spawn(watched, environment).code, 3) << policy;
    }
  }
}

// Stops `who` for a while in the middle of the work. Rings are small: they fill while the tool is
// stopped, and the program waits.
void Stop(const Session& session, Child& child, bool tool) {
  ASSERT_TRUE(session.WaitForCall(50));
  pid_t who = tool ? child.pid() : session.progress().pid.load();
  kill(who, SIGSTOP);
  usleep(300'000);
  kill(who, SIGCONT);
}

TEST(Ends, NothingIsLostWhileOneOfTheTwoIsStopped) {
  for (bool tool : {false, true}) {
    SCOPED_TRACE(tool ? "tool" : "program");
    Session session;
    constexpr uint64_t kMany = 20'000;
    Environment environment = Session::OnVirtualGpu();
    environment.push_back({"STREAMSAN_OPTIONS", "ring_mb=1"});
    Child child(session.Command({"run", "-o", session.trace()}, kMany, "exit"), environment);
    Stop(session, child, tool);
    Ran ran = child.Wait();
    EXPECT_EQ(ran.code, kSteadyCode) << ran.err;
    Kept kept = ReadTrace(session.trace());
    EXPECT_EQ(kept.calls.size(), kMany);
    ExpectUnbroken(kept.calls);
  }
}

// Sampled here with the whole tool; every single byte is cut in the tests of the trace itself.
TEST(Cut, ATraceIsJudgedToItsLastWholeBlockAndSaysSo) {
  Session session;
  Spawn(session.Command({"record", "-o", session.trace()}, kCalls, "exit"),
        Session::OnVirtualGpu());
  std::string whole = ReadFile(session.trace());
  ASSERT_EQ(ReadTrace(session.trace()).calls.size(), kCalls);
  for (size_t i = 0; i < 40; ++i) {
    size_t bytes = whole.size() * i / 40;
    SCOPED_TRACE(bytes);
    std::string path = session / "cut.sst";
    std::ofstream(path, std::ios::binary).write(whole.data(), static_cast<std::streamsize>(bytes));
    Ran check = Tool({"check", path});
    EXPECT_TRUE(Has(check.err, "cut.sst")) << check.err;
    if (check.code == 2) continue;  // not even a header
    EXPECT_EQ(check.code, 0) << check.err;
    EXPECT_TRUE(Has(check.err, "INCOMPLETE")) << check.err;
    Kept kept = ReadTrace(path);
    ExpectUnbroken(kept.calls);
    EXPECT_FALSE(kept.stats.Complete());
  }
}

}  // namespace
}  // namespace ss::e2e
