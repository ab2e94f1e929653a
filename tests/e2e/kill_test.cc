// SIGKILL at random moments of a whole `streamsan`: of the program, and of the tool.
#include <cstdlib>
#include <random>

#include "tests/e2e/session.h"

namespace ss::e2e {
namespace {

constexpr uint64_t kForever = 50'000'000;
constexpr uint64_t kLatest = 3000;  // calls before the blow

// STREAMSAN_E2E_MOMENTS: how many moments, for a long run by hand.
int Moments(int usual) {
  const char* text = std::getenv("STREAMSAN_E2E_MOMENTS");
  return text ? std::atoi(text) : usual;
}

class Moment {
 public:
  explicit Moment(int seed) : random_(static_cast<unsigned>(seed)) {}
  void WaitFor(const Session& session) {
    ASSERT_TRUE(session.WaitForCall(random_() % kLatest + 1));
    usleep(random_() % 2000);
  }

 private:
  std::mt19937 random_;
};

// Every call that had returned is in the trace; at most the one under way is there besides.
TEST(KillProgram, LosesNoCompletedCall) {
  for (int i = 0; i < Moments(40); ++i) {
    SCOPED_TRACE(i);
    Session session;
    Child child(session.Command({"run", "-o", session.trace()}, kForever, "exit"),
                Session::OnVirtualGpu());
    Moment(i).WaitFor(session);
    kill(session.progress().pid.load(), SIGKILL);
    Ran ran = child.Wait();
    uint64_t returned = session.progress().calls.load();
    EXPECT_EQ(ran.code, 128 + SIGKILL);
    EXPECT_TRUE(Has(ran.err, "0 hazards")) << ran.err;
    EXPECT_TRUE(Has(ran.err, "Coverage")) << ran.err;
    Kept kept = ReadTrace(session.trace());
    ExpectUnbroken(kept.calls);
    ASSERT_GE(kept.calls.size(), returned);
    ASSERT_LE(kept.calls.size(), returned + 1);
    EXPECT_TRUE(kept.stats.Complete());
  }
}

// The program outlives the tool, and the part of the trace that was written can be judged.
TEST(KillTool, TheProgramGoesOnAndEndsWell) {
  for (int i = 0; i < Moments(8); ++i) {
    SCOPED_TRACE(i);
    Session session;
    constexpr uint64_t kCalls = 3 * kLatest;
    Child child(session.Command({"run", "-o", session.trace()}, kCalls, "exit"),
                Session::OnVirtualGpu());
    ASSERT_TRUE(session.WaitForTrace());
    Moment(i).WaitFor(session);
    child.Signal(SIGKILL);
    EXPECT_EQ(child.Wait().code, 128 + SIGKILL);
    ASSERT_TRUE(session.WaitForEnd());
    EXPECT_EQ(session.progress().calls.load(), kCalls);
    Kept kept = ReadTrace(session.trace());
    ExpectUnbroken(kept.calls);
    EXPECT_FALSE(kept.stats.Complete());
    Ran check = Tool({"check", session.trace()});
    EXPECT_EQ(check.code, 0) << check.err;
    EXPECT_TRUE(Has(check.err, "INCOMPLETE")) << check.err;
  }
}

}  // namespace
}  // namespace ss::e2e
