// Overlapping calls: what the record numbers determine, and what they leave open.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

trace::Launch LaunchOn(uint64_t stream) {
  return {.function = kKernel, .stream = stream, .context = kContext};
}
trace::StreamSync SyncOf(uint64_t stream) { return {.stream = stream, .context = kContext}; }

class Order : public ::testing::Test {
 protected:
  Order() {
    feed.Context().Streams().Call(0, EventCreate{kEventE, kContext, 0});
    feed.Call(1, trace::StreamSync{.stream = kStreamB, .context = kContext});
    base = feed.seq();
  }
  std::vector<OpKind> Kinds() {
    std::vector<OpKind> kinds;
    for (size_t i = start(); i < feed.seen.size(); ++i) kinds.push_back(feed.seen[i].op.kind);
    return kinds;
  }
  size_t start() const {
    for (size_t i = 0; i < feed.seen.size(); ++i) {
      if (feed.seen[i].op.kind == OpKind::kStreamSync) return i + 1;
    }
    return 0;
  }
  bool Ambiguous(size_t i) { return feed.seen.at(start() + i).op.flags & kAmbiguousOrder; }

  Feeder feed;
  uint64_t base = 0;
};

TEST_F(Order, OverlappingCallsOnOneStreamAreBothFlagged) {
  feed.At(0, base + 1, base + 4, LaunchOn(kStreamA));
  feed.At(1, base + 2, base + 3, LaunchOn(kStreamA));
  feed.At(0, base + 5, base + 6, LaunchOn(kStreamA)).End();
  EXPECT_TRUE(Ambiguous(0));
  EXPECT_TRUE(Ambiguous(1));
  EXPECT_FALSE(Ambiguous(2));
  EXPECT_TRUE(feed.HasNote(2, "operations of ambiguous order"));
}

TEST_F(Order, NotOnDifferentStreamsNorOneAfterTheOther) {
  feed.At(0, base + 1, base + 4, LaunchOn(kStreamA));
  feed.At(1, base + 2, base + 3, LaunchOn(kStreamB));
  feed.At(1, base + 5, base + 6, LaunchOn(kStreamA)).End();
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(Ambiguous(i)) << i;
}

TEST_F(Order, TheFirstOneWaitsForTheLongestOverlap) {
  feed.At(0, base + 1, base + 10, LaunchOn(kStreamA));
  feed.At(1, base + 2, base + 3, LaunchOn(kStreamB));
  feed.At(2, base + 4, base + 5, LaunchOn(kStreamB));
  feed.At(1, base + 8, base + 9, LaunchOn(kStreamA)).End();
  EXPECT_EQ(Kinds().front(), OpKind::kKernel);
  EXPECT_TRUE(Ambiguous(0));
  EXPECT_TRUE(feed.seen.back().op.flags & kAmbiguousOrder);
}

TEST_F(Order, RecordAndWaitOnOneEvent) {
  feed.At(0, base + 1, base + 4,
          trace::EventRecord{.event = kEventE, .stream = kStreamA, .context = kContext});
  feed.At(1, base + 2, base + 3,
          trace::StreamWaitEvent{.stream = kStreamB, .context = kContext, .event = kEventE});
  feed.End();
  EXPECT_TRUE(Ambiguous(0));
  EXPECT_TRUE(Ambiguous(1));
}

TEST_F(Order, TwoQueriesCommute) {
  feed.At(0, base + 1, base + 4, trace::EventQuery{.event = kEventE});
  feed.At(1, base + 2, base + 3, trace::EventQuery{.event = kEventE}).End();
  EXPECT_FALSE(Ambiguous(0));
  EXPECT_FALSE(Ambiguous(1));
}

TEST_F(Order, TwoQueriesOfOneStreamCommute) {
  feed.At(0, base + 1, base + 4, trace::StreamQuery{.stream = kStreamA, .context = kContext});
  feed.At(1, base + 2, base + 3, trace::StreamQuery{.stream = kStreamA, .context = kContext}).End();
  EXPECT_FALSE(Ambiguous(0));
  EXPECT_FALSE(Ambiguous(1));
}

TEST_F(Order, TwoSyncsOfOneCallAreNotSplit) {  // cuEventElapsedTime
  feed.At(0, base + 1, base + 2, trace::EventSync{.event = kEventE});
  feed.At(0, base + 1, base + 2, trace::EventSync{.event = kEventE}).End();
  EXPECT_EQ(Kinds(), (std::vector{OpKind::kEventSync, OpKind::kEventSync}));
  EXPECT_EQ(feed.seen.back().op.flags, 0u);
}

TEST_F(Order, LegacyStreamOverlapsWithBlockingStreamsOnly) {
  feed.Call(0, StreamCreate{.stream = 0xD00, .context = kContext, .flags = 0});
  feed.Call(0, LaunchOn(1));
  const uint64_t now = feed.seq();
  feed.At(0, now + 1, now + 6, LaunchOn(1));
  feed.At(1, now + 2, now + 3, LaunchOn(kStreamA));
  feed.At(1, now + 4, now + 5, LaunchOn(0xD00)).End();
  const auto kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_TRUE(kernels[1].op.flags & kAmbiguousOrder);
  EXPECT_FALSE(kernels[2].op.flags & kAmbiguousOrder);
  EXPECT_TRUE(kernels[3].op.flags & kAmbiguousOrder);
}

TEST_F(Order, SyncThatNothingComesBetweenIsOneOperation) {
  feed.At(0, base + 1, base + 2, SyncOf(kStreamA));
  feed.At(1, base + 3, base + 4, LaunchOn(kStreamA)).End();
  EXPECT_EQ(Kinds(), (std::vector{OpKind::kStreamSync, OpKind::kKernel}));
  EXPECT_EQ(feed.seen[start()].op.flags, 0);
}

TEST_F(Order, SyncIsSplitWhereAnotherThreadComesBetween) {
  feed.At(0, base + 1, base + 4, SyncOf(kStreamA));
  feed.At(1, base + 2, base + 3, LaunchOn(kStreamA));
  feed.At(1, base + 5, base + 6, LaunchOn(kStreamB)).End();
  ASSERT_EQ(Kinds(),
            (std::vector{OpKind::kStreamSync, OpKind::kKernel, OpKind::kSyncEnd, OpKind::kKernel}));
  const Op begin = feed.seen[start()].op, end = feed.seen[start() + 2].op;
  EXPECT_EQ(begin.flags,
            kSyncBegin);  // and not ambiguous: what is queued meanwhile is not waited for
  EXPECT_EQ(end.value, begin.id);
  EXPECT_EQ(end.host, begin.host);
  EXPECT_EQ(end.stream, begin.stream);
  EXPECT_FALSE(Ambiguous(1));
}

TEST_F(Order, EventAndDeviceSyncAndBlockingCopyAreSplitToo) {
  feed.At(0, base + 1, base + 10, trace::EventSync{.event = kEventE});
  feed.At(1, base + 2, base + 12, ContextSync{kContext});
  feed.At(2, base + 3, base + 14,
          trace::Copy{.destination = 0x1000,
                      .source = 0x2000,
                      .bytes = 8,
                      .stream = kStreamA,
                      .context = kContext,
                      .blocking = 1,
                      .exact = 1});
  feed.At(3, base + 4, base + 5, LaunchOn(kStreamB)).End();
  ASSERT_EQ(feed.Of(OpKind::kSyncEnd).size(), 3u);
  EXPECT_TRUE(feed.The(OpKind::kEventSync).op.flags & kSyncBegin);
  EXPECT_TRUE(feed.The(OpKind::kDeviceSync).op.flags & kSyncBegin);
  EXPECT_EQ(feed.The(OpKind::kCopy).op.flags, kSyncBegin | kBlocking);
  EXPECT_EQ(feed.Of(OpKind::kSyncEnd)[0].op.object, 1u);
}

TEST_F(Order, LaunchUnderWayWhenASyncBeginsIsAmbiguous) {
  feed.At(1, base + 1, base + 3, LaunchOn(kStreamA));
  feed.At(0, base + 2, base + 6, SyncOf(kStreamA)).End();
  EXPECT_TRUE(Ambiguous(0));
  EXPECT_TRUE(Ambiguous(1));
}

TEST_F(Order, DeviceSyncOverlapsWithEveryStreamOfItsContext) {
  feed.Context(0xC7);
  const uint64_t now = feed.seq();
  feed.At(1, now + 1, now + 3, LaunchOn(kStreamA));
  feed.At(0, now + 2, now + 6, ContextSync{kContext});
  feed.At(2, now + 7, now + 9, LaunchOn(kStreamA));
  feed.At(0, now + 8, now + 10, ContextSync{0xC7}).End();
  const auto kernels = feed.Of(OpKind::kKernel);
  EXPECT_TRUE(kernels[0].op.flags & kAmbiguousOrder);
  EXPECT_FALSE(kernels[1].op.flags & kAmbiguousOrder);
}

TEST_F(Order, AllocationExistsAtItsReturn) {
  const trace::Alloc alloc{.address = 0x10000, .bytes = 256, .kind = 1, .context = kContext};
  feed.Call(1, alloc);
  const uint64_t now = feed.seq();
  feed.At(0, now + 1, now + 4, alloc);  // gets what the other thread frees meanwhile
  feed.At(1, now + 2, now + 3, trace::Free{.address = 0x10000, .kind = 1});
  feed.At(0, now + 5, now + 6, trace::Free{.address = 0x10000, .kind = 1}).End();
  const auto frees = feed.Of(OpKind::kFree);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].op.object, 1u);
  EXPECT_EQ(frees[1].op.object, 2u);
  EXPECT_EQ(frees[0].op.flags | frees[1].op.flags, 0);
  EXPECT_TRUE(feed.importer.coverage().notes.empty());
}

TEST_F(Order, AsyncAllocationOverlapsFromItsCall) {
  feed.At(
      0, base + 1, base + 4,
      trace::AllocAsync{.address = 0x10000, .bytes = 256, .stream = kStreamA, .context = kContext});
  feed.At(1, base + 2, base + 3, LaunchOn(kStreamA)).End();
  EXPECT_TRUE(feed.The(OpKind::kAllocAsync).op.flags & kAmbiguousOrder);
  EXPECT_TRUE(feed.The(OpKind::kKernel).op.flags & kAmbiguousOrder);
}

TEST_F(Order, IdsIncreaseInOrderOfOutput) {
  feed.At(0, base + 1, base + 4, SyncOf(kStreamA));
  feed.At(1, base + 2, base + 3, LaunchOn(kStreamB)).Call(0, LaunchOn(kStreamA)).End();
  for (size_t i = 1; i < feed.seen.size(); ++i)
    EXPECT_LT(feed.seen[i - 1].op.id, feed.seen[i].op.id);
}

TEST_F(Order, AdvanceLetsOutWhatNothingCanOverlapAnyMore) {
  feed.At(0, base + 1, base + 2, LaunchOn(kStreamA));
  EXPECT_TRUE(feed.Of(OpKind::kKernel).empty());
  feed.importer.Advance(base + 3, feed);
  EXPECT_EQ(feed.Of(OpKind::kKernel).size(), 1u);
}

TEST(Window, IsBoundedAndSaysSo) {
  Feeder feed({.max_held = 4});
  feed.Context().Streams();
  const uint64_t now = feed.seq();
  feed.At(0, now + 1, now + 100, LaunchOn(kStreamA));
  for (uint64_t i = 0; i < 8; ++i) feed.At(1, now + 2 + 2 * i, now + 3 + 2 * i, LaunchOn(kStreamB));
  EXPECT_FALSE(feed.Of(OpKind::kKernel).empty());
  feed.End();
  EXPECT_EQ(feed.Of(OpKind::kKernel).size(), 9u);
  EXPECT_FALSE(feed.importer.coverage().complete);
}

TEST(Window, ManyOperationsKeepTheirAccesses) {  // the window moves its contents now and then
  Feeder feed;
  feed.Context().Streams();
  const uint64_t now = feed.seq();
  constexpr uint64_t kMany = 20'000;
  feed.At(0, now + 1, now + kMany, LaunchOn(kStreamA));
  for (uint64_t i = 1; i < kMany; ++i) {
    feed.At(1, now + 2 * i, now + 2 * i + 1,
            trace::Memset{
                .destination = 0x1000 * i, .bytes = 8, .stream = kStreamB, .context = kContext});
  }
  feed.End();
  const auto sets = feed.Of(OpKind::kMemset);
  ASSERT_EQ(sets.size(), kMany - 1);
  for (uint64_t i = 1; i < kMany; ++i) {
    ASSERT_EQ(sets[i - 1].accesses.size(), 1u);
    ASSERT_EQ(sets[i - 1].accesses[0].begin, 0x1000 * i);
  }
}

TEST_F(Order, RecordThatComesTooLateIsAmbiguousAndCounted) {
  feed.At(0, base + 10, base + 11, LaunchOn(kStreamA));
  feed.At(1, base + 2, base + 30, SyncOf(kStreamA)).End();
  EXPECT_TRUE(Ambiguous(1));
  EXPECT_TRUE(feed.HasNote(1, "calls came too late"));
}

}  // namespace
}  // namespace ss
