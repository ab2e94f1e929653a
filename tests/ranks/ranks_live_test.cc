// `streamsan run` over ranks that wait for each other for ever: they are told of while they hang,
// and in the report when they are ended.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/process.h"

namespace ss {
namespace {

constexpr char kTold[] = "the ranks have issued no collective for a while, and disagree";
const std::string kHang = SS_BINARY_DIR "/bin/ranks_hang";

class Hang : public Child {
 public:
  Hang(const std::string& what, const std::string& options)
      : Child(
            {SS_BINARY_DIR "/bin/streamsan", "run", "--", "sh", "-c",
             "RANK=0 " + kHang + " " + what + " & RANK=1 " + kHang + " " + what + " & wait"},
            {{"STREAMSAN_OPTIONS", options},
             {"LD_LIBRARY_PATH", SS_BINARY_DIR "/lib/nccl_stand_in:" SS_BINARY_DIR "/lib/vgpu"}}) {}

  bool Tells(std::chrono::seconds patience) const {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!Has(err(), kTold)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
  // As Ctrl-C does, to all of them.
  Ran End() {
    kill(-pid(), SIGTERM);
    return Wait();
  }
};

TEST(RanksLive, OrderThatDiffersIsToldWhileItHangs) {
  Hang hang("order", "");
  EXPECT_TRUE(hang.Tells(std::chrono::seconds(30)));
  Ran ran = hang.End();
  EXPECT_EQ(ran.code, 66) << ran.err;
  const std::string report = ran.err.substr(ran.err.rfind("collective-order"));
  EXPECT_TRUE(Has(report, "comm#0 (ranks 0-1)")) << ran.err;
  EXPECT_TRUE(Has(report, "rank.py:11")) << ran.err;  // the program's own lines
  EXPECT_TRUE(Has(report, "rank.py:16")) << ran.err;
  const size_t last = ran.err.rfind("did not come to its end");  // of both ranks
  ASSERT_NE(last, std::string::npos) << ran.err;
  const std::string running = ran.err.substr(last);
  EXPECT_TRUE(Has(running, "rank 0 stream#0  op")) << ran.err;
  EXPECT_TRUE(Has(running, "rank 1 stream#0  op")) << ran.err;
}

TEST(RanksLive, WhatIsMissingIsToldOnceNothingIsOnItsWay) {
  Hang hang("missing", "stall_seconds=2");
  EXPECT_TRUE(hang.Tells(std::chrono::seconds(30)));
  Ran ran = hang.End();
  EXPECT_EQ(ran.code, 66) << ran.err;
  EXPECT_TRUE(Has(ran.err, "collective-mismatch  error, likely")) << ran.err;
}

// It may only be slow.
TEST(RanksLive, WhatIsMissingIsNoHazardBefore) {
  Hang hang("missing", "stall_seconds=1000");
  EXPECT_FALSE(hang.Tells(std::chrono::seconds(8)));
  Ran ran = hang.End();
  EXPECT_EQ(ran.code, 143) << ran.err;
  EXPECT_TRUE(Has(ran.err, "1 more hazard less certain")) << ran.err;
}

}  // namespace
}  // namespace ss
