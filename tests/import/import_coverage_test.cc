// What the trace says of itself, and the import of a whole trace.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

TEST(Coverage, CompleteOnlyIfNothingIsMissing) {
  Feeder feed;
  feed.Context().Streams().Note(0, ProcessEnd{}).End();
  const Coverage coverage = feed.importer.coverage();
  EXPECT_TRUE(coverage.complete);
  EXPECT_EQ(coverage.calls, 3u);
  EXPECT_EQ(coverage.calls_modelled, 3u);
}

TEST(Coverage, UnmodelledCallsByNameMostFrequentFirst) {
  Feeder feed;
  feed.Text(1, "cuGraphLaunch").Text(2, "cuMemMap");
  feed.Note(0, Unmodelled{1, 2}).Note(1, Unmodelled{2, 5}).Note(1, Unmodelled{1, 1}).End();
  const Coverage coverage = feed.importer.coverage();
  ASSERT_EQ(coverage.unmodelled.size(), 2u);
  EXPECT_EQ(coverage.unmodelled[0].name, "cuMemMap");
  EXPECT_EQ(coverage.unmodelled[0].count, 5u);
  EXPECT_EQ(coverage.unmodelled[1].count, 3u);
  EXPECT_EQ(coverage.calls, 8u);
  EXPECT_EQ(coverage.calls_modelled, 0u);
  EXPECT_FALSE(coverage.complete);
}

TEST(Coverage, DroppedLateAndUnknownSpoilIt) {
  Feeder dropped, late, unknown;
  dropped.Note(0, Dropped{7}).End();
  late.Note(0, trace::Process{.pid = 1, .late = 1}).End();
  unknown.Note(0, trace::Unknown{999}).End();
  EXPECT_EQ(dropped.importer.coverage().dropped, 7u);
  EXPECT_FALSE(dropped.importer.coverage().complete);
  EXPECT_TRUE(late.importer.coverage().late);
  EXPECT_FALSE(late.importer.coverage().complete);
  EXPECT_TRUE(unknown.HasNote(1, "records of kinds"));
  EXPECT_FALSE(unknown.importer.coverage().complete);
}

TEST(Coverage, ProcessStacksImagesAndCounters) {
  Feeder feed;
  feed.Note(0, trace::Process{.pid = 10, .command = std::string("app\0-n\0\0", 8), .rank = 2});
  feed.Note(0, trace::Stack{3, {0x10, 0x20}}).Note(0, trace::Stack{4, {0x30}});
  feed.Note(0, trace::Module{0x1000, 0x1000, 0x2000, "/bin/app", "id"});
  feed.Text(1, "cuLaunchKernel").Note(0, Counters{{1, 5}}).Note(0, Counters{{1, 9, 2}});
  feed.Note(0, Fork{77}).End();
  EXPECT_EQ(feed.importer.process().command, (std::vector<std::string>{"app", "-n", ""}));
  EXPECT_EQ(feed.importer.process().rank, 2);
  ASSERT_EQ(feed.importer.stacks().Get(3).size(), 2u);
  EXPECT_EQ(feed.importer.stacks().Get(3)[1], 0x20u);
  EXPECT_EQ(feed.importer.stacks().Get(4)[0], 0x30u);
  EXPECT_TRUE(feed.importer.stacks().Get(5).empty());
  EXPECT_EQ(feed.importer.images().at(0).path, "/bin/app");
  const auto counts = feed.importer.call_counts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0], (std::pair<std::string, uint64_t>{"cuLaunchKernel", 9}));
  EXPECT_TRUE(feed.HasNote(1, "children of this process, which have traces of their own"));
  EXPECT_TRUE(feed.seen.empty());  // definitions are no thread's doing
}

TEST(ImportProgram, GivesOpsWithTheirAccesses) {
  std::vector<Record> records;
  auto add = [&](Body body) {
    const uint64_t seq = 2 * records.size() + 1;
    records.push_back({0, seq, seq + 1, std::move(body)});
  };
  add(ContextCreate{kContext, 0});
  add(StreamCreate{.stream = kStreamA, .context = kContext, .flags = 1});
  for (uint64_t i = 1; i <= 2; ++i) {
    add(Memset{.destination = 0x1000 * i, .bytes = 8, .stream = kStreamA, .context = kContext});
  }
  size_t at = 0;
  auto imported = ImportProgram([&](Record& record) -> Result<bool> {
    if (at == records.size()) return false;
    record = records[at++];
    return true;
  });
  ASSERT_TRUE(imported.has_value());
  const Program& program = imported->program;
  EXPECT_TRUE(program.recorded);
  ASSERT_EQ(program.ops.size(), 4u);  // thread, stream, two memsets
  EXPECT_EQ(program.accesses[program.ops[3].access_begin].begin, 0x2000u);
  EXPECT_EQ(program.strings.Get(program.ops[0].name), "main");
}

TEST(ImportProgram, PassesTheReadersErrorOn) {
  auto imported = ImportProgram([](Record&) -> Result<bool> { return Fail("x.sst", "cut off"); });
  ASSERT_FALSE(imported.has_value());
  EXPECT_EQ(imported.error().place, "x.sst");
}

}  // namespace
}  // namespace ss
