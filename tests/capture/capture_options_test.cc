#include <gtest/gtest.h>

#include "src/capture/options.h"

namespace ss::capture {
namespace {

TEST(Options, DefaultsWithoutText) {
  Options options = ParseOptions(nullptr);
  EXPECT_FALSE(options.disable);
  EXPECT_TRUE(options.stacks);
  EXPECT_FALSE(options.drop_when_full);
  EXPECT_EQ(options.ring_bytes, 0u);
}

TEST(Options, ReadsEveryKey) {
  testing::internal::CaptureStderr();
  Options options = ParseOptions("stacks=0:ring_mb=16:on_full=drop:disable=1");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(options.disable);
  EXPECT_FALSE(options.stacks);
  EXPECT_TRUE(options.drop_when_full);
  EXPECT_EQ(options.ring_bytes, size_t{16} << 20);
}

TEST(Options, PassesOverTheCollectorsKeys) {
  testing::internal::CaptureStderr();
  ParseOptions("mode=strict:max_trace_mb=100:halt_on_error=1:min_confidence=possible:");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Options, NamesWhatItDoesNotUnderstandAndGoesOn) {
  for (const char* bad : {"stack=1", "stacks=yes", "ring_mb=0", "ring_mb=9999", "ring_mb=4k",
                          "on_full=", "disable", "=1"}) {
    testing::internal::CaptureStderr();
    Options options = ParseOptions((std::string(bad) + ":on_full=drop").c_str());
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(std::string("'") + bad + "'"), std::string::npos) << said;
    EXPECT_TRUE(options.drop_when_full) << bad;
    EXPECT_TRUE(options.stacks) << bad;
    EXPECT_EQ(options.ring_bytes, 0u) << bad;
  }
}

}  // namespace
}  // namespace ss::capture
