// What a preload must leave alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/capture/watch.h"

namespace ss::test {
namespace {

constexpr const char* kJemalloc[] = {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
                                     "/usr/lib64/libjemalloc.so.2"};

std::string Jemalloc() {
  for (const char* path : kJemalloc) {
    if (access(path, R_OK) == 0) return path;
  }
  return {};
}

void ExpectUndisturbed(const RunOptions& options) {
  Watched watched = ss::test::Run({Program("capture_bystander")}, options);
  EXPECT_EQ(watched.status, 0) << watched.errors;
  auto printed = watched.Printed();
  EXPECT_EQ(printed["malloc"], 1u);
  EXPECT_EQ(printed["own_malloc"], 1u);
  EXPECT_EQ(printed["driver_by_default"], 0u);
  EXPECT_EQ(printed["unknown"], 0u);
  EXPECT_EQ(printed["error_names_it"], 1u);
  EXPECT_EQ(printed["versioned"], 1u);
  EXPECT_EQ(printed["driver_in_libc"], 0u);
  EXPECT_TRUE(watched.records.empty());
}

TEST(Interpose, ProgramWithoutCuda) { ExpectUndisturbed({}); }

TEST(Interpose, OtherPreloadsFindTheirNext) {
  std::string other = Library("capture_next_preload");
  RunOptions before;
  before.preload_before = other;
  RunOptions after;
  after.preload_after = other;
  for (const RunOptions& options : {before, after}) {
    ExpectUndisturbed(options);
    Watched watched = ss::test::Run({Program("capture_life"), "sets", "5"}, options);
    EXPECT_EQ(watched.status, 0) << watched.errors;
    EXPECT_NE(watched.errors.find("next_preload_used 1"), std::string::npos) << watched.errors;
    EXPECT_EQ(watched.All<trace::Memset>().size(), 5u);
  }
}

TEST(Interpose, Jemalloc) {
  std::string other = Jemalloc();
  if (other.empty()) GTEST_SKIP() << "libjemalloc2 is not installed";
  RunOptions before;
  before.preload_before = other;
  RunOptions after;
  after.preload_after = other;
  for (const RunOptions& options : {before, after}) {
    ExpectUndisturbed(options);
    Watched watched = ss::test::Run({Program("capture_life"), "threads"}, options);
    EXPECT_EQ(watched.status, 0) << watched.errors;
    EXPECT_EQ(watched.All<trace::Memset>().size(), 400u);
  }
}

std::string FakeDriver() {
  std::string library = std::string(SS_BINARY_DIR) + "/lib";
  return "LD_LIBRARY_PATH=" + library + "/fake_driver:" + library;
}

TEST(Interpose, ForkedChildrenNeverWriteIntoTheParentsRings) {
  RunOptions options;
  options.environment = {FakeDriver()};
  Watched watched = ss::test::Run({Program("capture_plumbing"), "fork"}, options);
  ASSERT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.ended.size(), 2u);  // the quiet child is none
  EXPECT_EQ(watched.All<trace::Process>().size(), 2u);
  EXPECT_EQ(watched.All<trace::ProcessEnd>().size(), 2u);
  EXPECT_EQ(watched.All<trace::StreamSync>().size(), 2u + 3u);
}

// A driver of a few functions, each of which returns what it can tell of its arguments.
TEST(Interpose, ForwardsAnySignature) {
  RunOptions options;
  options.environment = {FakeDriver()};
  for (bool with_socket : {true, false}) {
    options.with_socket = with_socket;
    Watched watched = ss::test::Run({Program("capture_plumbing")}, options);
    ASSERT_EQ(watched.status, 0) << watched.errors;
    auto printed = watched.Printed();
    EXPECT_EQ(printed["nine_arguments"], 123456789u);
    EXPECT_EQ(printed["nine_again"], 123456789u);
    EXPECT_EQ(printed["lacking_by_handle"], 0u);
    EXPECT_EQ(printed["lacking_by_default"], 0u);
    EXPECT_EQ(printed["present_by_default"], 1u);
    EXPECT_EQ(printed["other_function_of_that_name"], 77u);
    EXPECT_EQ(printed["old_form_is_ours"], 1u);
    EXPECT_EQ(printed["unexported_is_ours"], 1u);
    EXPECT_EQ(printed["newer_form_is_the_drivers"], 1u);
    EXPECT_EQ(printed["stale_error"], 0u);
    EXPECT_EQ(printed["captured_function_ran"], 2u);
    if (with_socket) {
      // Before, in, beside and after the capture, and the one whose parameters nobody knows.
      std::vector<uint64_t> nodes;
      for (const auto& launch : watched.All<trace::Launch>()) nodes.push_back(launch.graph_node);
      EXPECT_EQ(nodes, (std::vector<uint64_t>{0, 1, 0, 0, 0}));
      ASSERT_EQ(watched.All<trace::HostFunction>().size(), 1u);
      EXPECT_EQ(watched.All<trace::HostFunction>()[0].graph_node, 1u);
      EXPECT_EQ(watched.All<trace::CaptureBegin>().size(), 1u);
      EXPECT_EQ(watched.All<trace::CaptureEnd>().size(), 1u);
      EXPECT_EQ(watched.Unmodelled()["launch with unknown parameter layout"], 1u);
      EXPECT_EQ(watched.Unmodelled()["cuMemDiscardBatchAsync_ptsz"], 2u);
      EXPECT_EQ(watched.Counters()["cuMemDiscardBatchAsync_ptsz"], 2u);
      EXPECT_EQ(watched.Unmodelled()["function in a form newer than this tool"], 1u);
    }
  }
}

}  // namespace
}  // namespace ss::test
