// A trace that cannot be written to its end: said, by name, and everything else is as ever.
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/e2e/session.h"

namespace ss::e2e {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kCalls = 20'000;

Ran RunSteady(const Session& session, std::vector<std::string> options) {
  return Spawn(session.Command(std::move(options), kCalls, "exit"), Session::OnVirtualGpu());
}

void ExpectSaid(const Ran& ran, const std::string& path, const char* reason) {
  EXPECT_TRUE(Has(ran.err, "LOST") || Has(ran.err, "no trace kept")) << ran.err;
  EXPECT_TRUE(Has(ran.err, path)) << ran.err;
  EXPECT_TRUE(Has(ran.err, reason)) << ran.err;
}

void ExpectJudged(const Ran& ran) {
  EXPECT_EQ(ran.code, kSteadyCode);
  EXPECT_TRUE(Has(ran.err, "0 hazards")) << ran.err;
}

TEST(FullDisk, ADeviceWithoutRoomForAByte) {
  Session session;
  fs::create_symlink("/dev/full", session.trace());
  Ran ran = RunSteady(session, {"run", "-o", session.trace()});
  ExpectSaid(ran, session.trace(), "No space left on device");
  ExpectJudged(ran);
  EXPECT_EQ(session.progress().ended.load(), 1u);
}

TEST(FullDisk, AFileSystemThatFillsUpOnTheWay) {
  Session session;
  fs::create_directory(session / "small");
  if (mount("none", (session / "small").c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "no tmpfs may be mounted here";
  }
  std::string trace = session / "small/run.sst";
  Ran ran = RunSteady(session, {"run", "-o", trace});
  ExpectSaid(ran, trace, "No space left on device");
  ExpectJudged(ran);
  Kept kept = ReadTrace(trace);
  ExpectUnbroken(kept.calls);
  // How much was lost is written at the end, if there is room for that.
  EXPECT_TRUE(kept.stats.lost > 0 || !kept.stats.has_end);
  EXPECT_GT(kept.calls.size(), 0u);
  EXPECT_LT(kept.calls.size(), kCalls);
  Ran check = Tool({"check", trace});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_TRUE(Has(check.err, "INCOMPLETE")) << check.err;
  EXPECT_EQ(umount((session / "small").c_str()), 0);
}

// The kernel signals a process that writes beyond its limit; the tool must not die of that.
TEST(FullDisk, ALimitOnTheSizeOfTheToolsFiles) {
  Session session;
  Child child(session.Command({"run", "-o", session.trace()}, kCalls, "exit"),
              Session::OnVirtualGpu());
  ASSERT_TRUE(session.WaitForCall(1));
  rlimit small{32 << 10, 32 << 10};
  ASSERT_EQ(prlimit(child.pid(), RLIMIT_FSIZE, &small, nullptr), 0);
  Ran ran = child.Wait();
  ExpectSaid(ran, session.trace(), "File too large");
  ExpectJudged(ran);
}

// Nor the program, whose records need room of that kind too: it is not watched then, which is said.
TEST(FullDisk, ALimitOnTheSizeOfTheProgramsFiles) {
  Session session;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small{64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Ran ran = Spawn(session.Command({"run"}, 50, "exit"), Session::OnVirtualGpu());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(ran.code, kSteadyCode);
  EXPECT_EQ(session.progress().ended.load(), 1u);
  EXPECT_TRUE(Has(ran.err, "ulimit -f")) << ran.err;
  EXPECT_FALSE(Has(ran.err, "0 hazards")) << ran.err;
}

TEST(FullDisk, ARecordingThatWasNotKeptIsAnError) {
  Session session;
  fs::create_symlink("/dev/full", session.trace());
  std::vector<std::string> command = session.Command({"record", "-o", session.trace()}, 10, "exit");
  Ran ran = Spawn(command, Session::OnVirtualGpu());
  EXPECT_EQ(ran.code, kSteadyCode);  // the program's own failure is said first
  ExpectSaid(ran, session.trace(), "No space left on device");
  command = {SS_BINARY_DIR "/bin/streamsan", "record", "-o", session.trace(), "--",
             SS_BINARY_DIR "/bin/ending",    "exit",   "0"};
  ran = Spawn(command, Session::OnVirtualGpu());
  EXPECT_EQ(ran.code, 2) << ran.err;
}

TEST(FullDisk, AReportThatCannotBeWritten) {
  Session session;
  Ran ran = RunSteady(session, {"run", "--report", "/dev/full"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "/dev/full")) << ran.err;
}

}  // namespace
}  // namespace ss::e2e
