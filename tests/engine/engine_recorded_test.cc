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

// The driver cannot be told of a stream, an allocator of pinned memory can.
TEST(Fixes, RecordStreamIsForMemoryOfAnAllocator) {
  Program program = FromLitmus(
      "stream s\n"
      "alloc H 4K pinned\n"
      "alloc D 4K device\n"
      "s: copy D <- H\n"
      "free H\n");
  auto offered = [&] {
    const std::vector<Finding> findings = FindingsOf(program);
    EXPECT_EQ(findings.size(), 1u);
    return !findings.empty() &&
           std::any_of(findings[0].fixes.begin(), findings[0].fixes.end(),
                       [](const Fix& fix) { return fix.kind == FixKind::kRecordStream; });
  };
  EXPECT_TRUE(offered());
  program.recorded = true;
  EXPECT_FALSE(offered());
  auto alloc = std::find_if(program.ops.begin(), program.ops.end(),
                            [](const Op& op) { return op.kind == OpKind::kAlloc; });
  alloc->aux = 7;  // a pool
  EXPECT_TRUE(offered());
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

// Moves all that touches the buffer which the n-th allocation makes.
void Place(Program& program, size_t n, uint64_t address) {
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::kAlloc || n-- != 0) continue;
    const Access range = program.accesses[op.access_begin];
    for (Access& access : program.accesses) {
      if (access.begin < range.begin || access.end > range.end) continue;
      access.begin += address - range.begin;
      access.end += address - range.begin;
    }
    return;
  }
}

// What a finding has settled goes from a block to those that get its bytes: to both halves, and
// once to the block that they become again. (It came twice, and thirty rounds later 2^30 times.)
TEST(Recorded, ABlockThatIsSplitAndJoinedAgainKeepsWhatIsSettledOnce) {
  constexpr int kRounds = 30;
  std::string text =
      "stream a\nstream b\nalloc W 8K on a\na: kernel w write W\nb: kernel r read W\n";
  std::string whole = "W";
  for (int i = 0; i < kRounds; ++i) {
    const std::string n = std::to_string(i);
    text += "free " + whole + "\nalloc L" + n + " 4K on a\nalloc R" + n + " 4K on a\n";
    text += "a: kernel half write L" + n + " write R" + n + "\nfree L" + n + "\nfree R" + n + "\n";
    whole = "W" + n;
    text += "alloc " + whole + " 8K on a\na: kernel again write " + whole + "\n";
  }
  Program program = FromLitmus(text);
  constexpr uint64_t kBase = uint64_t{1} << 40;
  for (size_t i = 0; i < 1 + 3 * kRounds; ++i) {
    Place(program, i, i % 3 == 2 ? kBase + 0x1000 : kBase);
  }
  const std::vector<Finding> findings = FindingsOf(program);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].code, "race-raw");
  EXPECT_EQ(findings[1].code, "lifetime");
}

}  // namespace
}  // namespace ss
