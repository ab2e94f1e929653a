// What only recorded programs have: contexts, threads that end, names that nobody gave.
#include "tests/engine/from_litmus.h"

namespace ss {
namespace {

constexpr char kSynchronised[] =
    "stream s\n"
    "alloc H 4K pinned\n"
    "alloc D 4K device\n"
    "s: copy H <- D\n"
    "sync device\n"
    "main: read H\n";

TEST(DeviceSync, IsOneContextsWhereItNamesOne) {
  Program program = FromLitmus(kSynchronised);
  Op& sync = The(program, OpKind::kDeviceSync);
  EXPECT_TRUE(FindingsOf(program).empty());
  sync.object = 1;  // context 0, where the stream is
  EXPECT_TRUE(FindingsOf(program).empty());
  sync.object = 2;
  std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "host-race");
}

// A thread's id is given to another thread: what the first one knew is not the second one's.
TEST(HostEnd, TheNextThreadWithTheIdKnowsNothing) {
  Program program = FromLitmus(
      "mode strict\n"
      "stream s\n"
      "host t\n"
      "alloc H 4K pinned\n"
      "alloc D 4K device\n"
      "s: copy H <- D\n"
      "@t sync s\n"
      "@t read H\n");
  EXPECT_TRUE(FindingsOf(program).empty());
  auto read = std::find_if(program.ops.begin(), program.ops.end(),
                           [](const Op& op) { return op.kind == OpKind::kHostAccess; });
  ASSERT_NE(read, program.ops.end());
  Op end, begin;
  end.kind = OpKind::kHostEnd;
  begin.kind = OpKind::kHostBegin;
  end.host = begin.host = read->host;
  end.id = begin.id = read->id;
  program.ops.insert(read, {end, begin});
  std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "host-race");
}

TEST(Names, AnUnnamedBufferIsCalledTheSameEverywhere) {
  Program program = FromLitmus(
      "stream a\n"
      "stream b\n"
      "alloc X 4K device\n"
      "a: kernel k write X\n"
      "b: kernel l write X\n");
  Op& alloc = The(program, OpKind::kAlloc);
  alloc.name = 0;
  std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(alloc.object, 1u);
  EXPECT_EQ(findings[0].buffer.name, "alloc#0");
}

// The access is made on a thread of the driver, in the order of the stream.
TEST(Names, AnAccessInAHostFunctionIsTheStreams) {
  Program program = FromLitmus(
      "stream a\n"
      "stream b\n"
      "alloc H 4K pinned\n"
      "b: host_fn\n"
      "a: kernel k write H\n"
      "main: write H\n");
  Op& function = The(program, OpKind::kHostFn);
  Op& access = The(program, OpKind::kHostAccess);
  access.aux = 1;
  access.stream = function.stream;
  access.value = function.id;
  std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "host-race");
  EXPECT_EQ(findings[0].second.lane, "b");
}

}  // namespace
}  // namespace ss
