// Threads, contexts, streams, events: which life a handle means.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

TEST(Threads, FirstIsMainOthersByNameOrNumber) {
  Feeder feed;
  feed.Note(7, trace::Thread{100, "app"}).Note(8, trace::Thread{101, "app"});
  feed.Note(9, trace::Thread{102, "loader"}).Note(10, trace::Thread{103, "loader"}).End();
  const auto hosts = feed.Of(OpKind::kHostBegin);
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_EQ(feed.NameOf(hosts[0].op), "main");
  EXPECT_EQ(feed.NameOf(hosts[1].op), "thread#1");  // only inherited its parent's name
  EXPECT_EQ(feed.NameOf(hosts[2].op), "loader");
  EXPECT_EQ(feed.NameOf(hosts[3].op), "loader#2");
  EXPECT_EQ(hosts[3].op.host, 3);
  EXPECT_EQ(feed.importer.HostName(3), "loader#2");
}

TEST(Threads, MainIsTheOneThatTheProcessBeganWith) {
  Feeder feed;
  feed.Note(1, trace::Process{.pid = 100}).Note(2, trace::Thread{101, "worker"});
  feed.Note(1, trace::Thread{100, "app"}).End();
  EXPECT_EQ(feed.importer.HostName(0), "worker");
  EXPECT_EQ(feed.importer.HostName(1), "main");
}

TEST(Threads, NoteNamesAgainAndEndIsTold) {
  Feeder feed;
  feed.Text(1, "engine")
      .Note(3, trace::Thread{})
      .Note(3, NoteThreadName{1})
      .Note(3, ThreadEnd{})
      .End();
  const auto hosts = feed.Of(OpKind::kHostBegin);
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[1].op.host, hosts[0].op.host);
  EXPECT_EQ(feed.NameOf(hosts[1].op), "engine");
  EXPECT_EQ(feed.The(OpKind::kHostEnd).op.host, hosts[0].op.host);
}

TEST(Threads, SameNumberAfterTheEndIsAnotherThread) {
  Feeder feed;
  feed.Note(3, trace::Thread{}).Note(3, ThreadEnd{}).Note(3, trace::Thread{}).End();
  const auto hosts = feed.Of(OpKind::kHostBegin);
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_NE(hosts[0].op.host, hosts[1].op.host);
}

TEST(Threads, IdsAreUsedAgainOnlyWhenNoneIsLeft) {
  Feeder feed;
  for (uint32_t i = 0; i < 0xFFFF; ++i) {
    feed.Note(i, trace::Thread{});
    if (i == 17) feed.Note(i, ThreadEnd{});
  }
  feed.Note(0x10000, trace::Thread{}).Note(0x10001, trace::Thread{}).End();
  const auto hosts = feed.Of(OpKind::kHostBegin);
  EXPECT_EQ(hosts[0xFFFF].op.host, 17);
  EXPECT_TRUE(feed.HasNote(1, "host threads share one lane"));
}

TEST(Streams, CreatedWithTypeDeviceAndName) {
  Feeder feed;
  feed.Context(0xC1, 0).Context(kContext, 3);
  feed.Call(0, StreamCreate{.stream = kStreamA, .context = kContext, .flags = 0, .stack = 5});
  feed.Call(0, StreamCreate{.stream = kStreamB, .context = kContext, .flags = 1}).End();
  const auto made = feed.Of(OpKind::kStreamCreate);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].op.aux, static_cast<uint32_t>(StreamType::kBlocking));
  EXPECT_EQ(made[1].op.aux, static_cast<uint32_t>(StreamType::kNonBlocking));
  EXPECT_EQ(made[0].op.value, 3u | 1u << 16);
  EXPECT_EQ(made[0].op.stack, 5u);
  EXPECT_EQ(feed.NameOf(made[1].op), "stream#1");
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST(Streams, HandleThatComesBackIsAnotherStream) {
  Feeder feed;
  feed.Context().Streams();
  feed.Call(0, trace::StreamSync{.stream = kStreamA, .context = kContext});
  feed.Call(0, StreamDestroy{kStreamA, kContext});
  feed.Call(0, StreamCreate{.stream = kStreamA, .context = kContext, .flags = 1});
  feed.Call(0, trace::StreamSync{.stream = kStreamA, .context = kContext}).End();
  const auto syncs = feed.Of(OpKind::kStreamSync);
  ASSERT_EQ(syncs.size(), 2u);
  EXPECT_EQ(feed.The(OpKind::kStreamDestroy).op.stream, syncs[0].op.stream);
  EXPECT_EQ(syncs[0].op.stream, 1u);
  EXPECT_EQ(syncs[1].op.stream, 3u);
}

TEST(Streams, LegacyIsOneAContextPerThreadOneAThread) {
  Feeder feed;
  feed.Context(0xC1).Context(0xC2);
  for (uint32_t thread : {0u, 1u}) {
    for (uint64_t context : {0xC1, 0xC2}) {
      feed.Call(thread, trace::StreamSync{.stream = 1, .context = context});
    }
    feed.Call(thread, trace::StreamSync{.stream = 2, .context = 0xC1});
  }
  feed.End();
  const auto syncs = feed.Of(OpKind::kStreamSync);
  ASSERT_EQ(syncs.size(), 6u);
  EXPECT_EQ(syncs[0].op.stream, syncs[3].op.stream);
  EXPECT_EQ(syncs[1].op.stream, syncs[4].op.stream);
  EXPECT_NE(syncs[0].op.stream, syncs[1].op.stream);
  EXPECT_NE(syncs[2].op.stream, syncs[5].op.stream);
  const auto made = feed.Of(OpKind::kStreamCreate);
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[0].op.aux, static_cast<uint32_t>(StreamType::kLegacy));
  EXPECT_EQ(made[2].op.aux, static_cast<uint32_t>(StreamType::kPerThread));
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST(Streams, UnknownHandleIsMadeAtFirstSightAndCounted) {
  Feeder feed;
  feed.Context().Call(0, trace::StreamSync{.stream = kStreamA, .context = kContext});
  feed.Call(0, trace::StreamSync{.stream = kStreamA, .context = 0xDEAD})
      .End();  // the handle is enough
  EXPECT_EQ(feed.The(OpKind::kStreamCreate).op.aux, static_cast<uint32_t>(StreamType::kBlocking));
  EXPECT_TRUE(feed.HasNote(1, "streams were first seen in use"));
  EXPECT_FALSE(feed.HasNote(1, "contexts"));
  EXPECT_FALSE(feed.importer.coverage().complete);
}

TEST(Streams, LateNameComesAsASecondCreate) {
  Feeder feed;
  feed.Context().Streams().Text(4, "comm").Note(0, NoteStreamName{kStreamB, kContext, 4});
  feed.Note(0, NoteStreamName{kStreamB, kContext, 4}).End();  // the same name again says nothing
  const auto made = feed.Of(OpKind::kStreamCreate);
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[2].op.stream, made[1].op.stream);
  EXPECT_EQ(feed.NameOf(made[2].op), "comm");
  EXPECT_EQ(made[2].op.aux, made[1].op.aux);
  EXPECT_EQ(feed.importer.StreamName(made[1].op.stream), "comm");
  EXPECT_EQ(feed.importer.StreamName(made[0].op.stream), "stream#0");
  EXPECT_EQ(feed.importer.StreamName(99), "");
}

// A name is the program's, and a terminal obeys what it is sent.
TEST(Streams, NamesHaveNoControlCharactersAndAreUtf8) {
  Feeder feed;
  feed.Context().Streams();
  feed.Text(4, "a\n\x1b[31m\xff\xc2\x85\xe2\x82 \xe2\x82\xac\xc3\xa9");
  feed.Note(0, NoteStreamName{kStreamB, kContext, 4}).End();
  EXPECT_EQ(feed.importer.StreamName(2),
            "a\\x0a\\x1b[31m\\xff\\xc2\\x85\\xe2\\x82 \xe2\x82\xac\xc3\xa9");
}

TEST(Events, RecordWaitSyncQueryNameOneLife) {
  Feeder feed;
  feed.Context().Streams().Call(0, EventCreate{kEventE, kContext, 2});
  feed.Call(
      0, trace::EventRecord{.event = kEventE, .stream = kStreamA, .context = kContext, .stack = 9});
  feed.Call(0, trace::StreamWaitEvent{.stream = kStreamB, .context = kContext, .event = kEventE});
  feed.Call(0, trace::EventQuery{.event = kEventE, .result = 600, .in_allocator = 1});
  feed.Call(0, trace::EventSync{.event = kEventE});
  feed.Call(0, EventDestroy{kEventE});
  feed.Call(0, EventCreate{kEventE, kContext, 2}).Call(0, trace::EventSync{.event = kEventE}).End();
  EXPECT_EQ(feed.The(OpKind::kEventRecord).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kEventRecord).op.stream, 1u);
  EXPECT_EQ(feed.The(OpKind::kEventRecord).op.stack, 9u);
  EXPECT_EQ(feed.The(OpKind::kStreamWaitEvent).op.stream, 2u);
  EXPECT_EQ(feed.The(OpKind::kEventQuery).op.flags, kNotReady | kAllocatorInternal);
  EXPECT_EQ(feed.The(OpKind::kEventDestroy).op.object, 1u);
  const auto syncs = feed.Of(OpKind::kEventSync);
  ASSERT_EQ(syncs.size(), 2u);
  EXPECT_EQ(syncs[0].op.object, 1u);
  EXPECT_EQ(syncs[1].op.object, 2u);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST(Events, CreationOverALiveHandleEndsTheOldLife) {
  Feeder feed;
  feed.Context().Streams().Call(0, EventCreate{kEventE, kContext, 0});
  feed.Call(0, EventCreate{kEventE, kContext, 0});
  feed.Call(0, StreamCreate{.stream = kStreamA, .context = kContext, .flags = 1}).End();
  EXPECT_EQ(feed.The(OpKind::kEventDestroy).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kStreamDestroy).op.stream, 1u);
}

TEST(Events, UnknownOneIsCounted) {
  Feeder feed;
  feed.Context().Call(0, trace::EventSync{.event = kEventE}).Call(0, EventDestroy{0xBAD}).End();
  EXPECT_EQ(feed.The(OpKind::kEventSync).op.object, 1u);
  EXPECT_TRUE(feed.HasNote(1, "events were first seen in use"));
  EXPECT_TRUE(feed.HasNote(1, "streams, events or contexts were destroyed"));
}

TEST(Contexts, SyncNamesDeviceAndContext) {
  Feeder feed;
  feed.Context(0xC1, 0).Context(kContext, 2).Call(0, ContextSync{kContext, 0, 3}).End();
  const Op sync = feed.The(OpKind::kDeviceSync).op;
  EXPECT_EQ(sync.aux, 2u);
  EXPECT_EQ(sync.object, 2u);
}

TEST(Contexts, DestroyEndsEverythingInIt) {
  Feeder feed;
  feed.Context().Streams().Call(0, EventCreate{kEventE, kContext, 0});
  feed.Call(0, trace::Alloc{.address = 0x10000, .bytes = 64, .kind = 1, .context = kContext});
  feed.Call(0, ContextDestroy{kContext}).Context();
  feed.Call(0, trace::StreamSync{.stream = kStreamA, .context = kContext}).End();
  EXPECT_EQ(feed.Of(OpKind::kStreamDestroy).size(), 2u);
  EXPECT_EQ(feed.The(OpKind::kEventDestroy).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kFree).op.flags, kImplicitEnd);
  EXPECT_EQ(feed.The(OpKind::kStreamSync).op.stream, 3u);
}

constexpr uint64_t kGreen = 0xC7;

// The primary context with stream A, a green one of it with stream B.
Feeder& WithGreen(Feeder& feed) {
  feed.Context(0xC1, 0).Context(kContext, 2);
  feed.Call(0, trace::ContextCreate{.context = kGreen, .device = 2, .primary = kContext});
  feed.Call(0, StreamCreate{.stream = kStreamA, .context = kContext, .flags = 1});
  return feed.Call(0, StreamCreate{.stream = kStreamB, .context = kGreen, .flags = 1});
}

TEST(GreenContexts, AreContextsThatNameTheirPrimaryOne) {
  Feeder feed;
  WithGreen(feed).Call(0, ContextSync{kGreen, 0, 3}).End();
  const auto made = feed.Of(OpKind::kStreamCreate);
  EXPECT_EQ(made[0].op.object, 0u);
  EXPECT_EQ(made[0].op.value, 2u | 1u << 16);
  EXPECT_EQ(made[1].op.object, 2u);
  EXPECT_EQ(made[1].op.value, 2u | 2u << 16);
  EXPECT_EQ(feed.The(OpKind::kDeviceSync).op.object, 3u);
}

TEST(GreenContexts, HaveNoBlockingStreams) {
  Feeder feed;
  WithGreen(feed).Call(0, StreamCreate{.stream = 0xC00, .context = kGreen}).End();
  EXPECT_EQ(feed.Of(OpKind::kStreamCreate)[2].op.aux,
            static_cast<uint32_t>(StreamType::kNonBlocking));
}

TEST(GreenContexts, EndTheirStreamsAlone) {
  Feeder feed;
  WithGreen(feed).Call(0, EventCreate{kEventE, kGreen, 0});
  feed.Call(0, trace::Alloc{.address = 0x10000, .bytes = 64, .kind = 1, .context = kGreen});
  feed.Call(0, ContextDestroy{kGreen});
  feed.Call(0, trace::EventSync{.event = kEventE}).End();
  EXPECT_EQ(feed.The(OpKind::kStreamDestroy).op.stream, 2u);
  EXPECT_TRUE(feed.Of(OpKind::kEventDestroy).empty());
  EXPECT_TRUE(feed.Of(OpKind::kFree).empty());
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST(GreenContexts, MemoryMadeInThemEndsWithThePrimaryOne) {
  Feeder feed;
  WithGreen(feed).Call(0,
                       trace::Alloc{.address = 0x10000, .bytes = 64, .kind = 1, .context = kGreen});
  feed.Call(0, ContextDestroy{kContext}).End();
  EXPECT_EQ(feed.The(OpKind::kFree).op.flags, kImplicitEnd);
}

TEST(ContextEvents, AreOnOneStreamThatStandsForTheContext) {
  Feeder feed;
  WithGreen(feed).Call(0, EventCreate{kEventE, kContext, 0});
  feed.Call(0, trace::ContextRecord{.context = kContext, .event = kEventE, .stack = 7});
  feed.Call(0, trace::ContextWait{.context = kContext, .event = kEventE, .stack = 8});
  feed.Call(0, trace::ContextWait{.context = kGreen, .event = kEventE, .stack = 9});
  feed.Call(0, trace::ContextWait{.context = kGreen, .event = kEventE, .result = 900}).End();
  const auto made = feed.Of(OpKind::kStreamCreate);
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[2].op.aux, static_cast<uint32_t>(StreamType::kContext));
  EXPECT_EQ(feed.NameOf(made[2].op), "context#1");
  EXPECT_EQ(feed.NameOf(made[3].op), "context#2");
  EXPECT_EQ(made[3].op.object, 2u);
  const Op record = feed.The(OpKind::kEventRecord).op;
  EXPECT_EQ(record.stream, made[2].op.stream);
  EXPECT_EQ(record.object, 1u);
  EXPECT_EQ(record.stack, 7u);
  const auto waits = feed.Of(OpKind::kStreamWaitEvent);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].op.stream, made[2].op.stream);
  EXPECT_EQ(waits[1].op.stream, made[3].op.stream);
  EXPECT_EQ(waits[1].op.object, 1u);
  EXPECT_EQ(waits[1].op.stack, 9u);
}

// Whether a record over the context is taken to overlap with what another thread queues meanwhile.
bool RecordOverlaps(uint64_t context, uint64_t stream) {
  Feeder feed;
  WithGreen(feed).Call(0, EventCreate{kEventE, kContext, 0});
  const uint64_t at = feed.seq();
  feed.At(0, at + 1, at + 4, trace::ContextRecord{.context = context, .event = kEventE});
  const trace::Memset set{
      .destination = 0x10000, .bytes = 8, .stream = stream, .context = kContext};
  feed.At(1, at + 2, at + 3, set).End();
  return (feed.The(OpKind::kEventRecord).op.flags & kAmbiguousOrder) != 0;
}

// It may be in the record or not: on any stream of the context, and of those that it includes.
TEST(ContextEvents, OverlapWithWorkOnTheirStreams) {
  EXPECT_TRUE(RecordOverlaps(kContext, kStreamA));
  EXPECT_TRUE(RecordOverlaps(kContext, kStreamB));
  EXPECT_FALSE(RecordOverlaps(kGreen, kStreamA));
}

TEST(Tags, ReleaseAndAcquireShareADenseNumber) {
  Feeder feed;
  feed.Note(0, NoteRelease{0x7777}).Note(0, NoteRelease{0x8888}).Note(1, NoteAcquire{0x8888}).End();
  EXPECT_EQ(feed.Of(OpKind::kTagRelease)[1].op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kTagAcquire).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kTagAcquire).op.host, 1);
}

}  // namespace
}  // namespace ss
