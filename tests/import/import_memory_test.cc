// Tenancies: which buffer an address is, from allocation to free, in the driver and in pools.
#include <gtest/gtest.h>

#include "src/program/op_names.h"
#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

constexpr uint64_t kBase = 0x7f00'0000'0000;
constexpr uint64_t kPool = 0x900D;

class Memory : public ::testing::Test {
 protected:
  Memory() { feed.Context(kContext, 2).Streams(); }
  void Alloc(uint64_t address, uint64_t bytes, uint64_t kind = 1) {
    feed.Call(
        0, trace::Alloc{
               .address = address, .bytes = bytes, .kind = kind, .context = kContext, .stack = 3});
  }
  void Free(uint64_t address) { feed.Call(0, trace::Free{.address = address, .kind = 1}); }
  void PoolAlloc(uint64_t address, uint64_t bytes, uint64_t stream = kStreamA) {
    feed.Note(0, NotePoolAlloc{.pool = kPool,
                               .address = address,
                               .bytes = bytes,
                               .stream = stream,
                               .context = kContext});
  }
  void PoolFree(uint64_t address) { feed.Note(0, NotePoolFree{.pool = kPool, .address = address}); }
  // Kind and end of the block that a kernel argument at `address` reaches; kUnknown = no block.
  Access Probe(uint64_t address) {
    feed.Note(0, NoteKernelAccess{kKernel, 0, kRead});
    feed.Call(
        0,
        trace::Launch{
            .function = kKernel, .stream = kStreamA, .context = kContext, .words = {0, address}});
    feed.End();
    const Seen kernel = feed.Of(OpKind::kKernel).back();
    return kernel.accesses.empty() ? Access{} : kernel.accesses[0];
  }
  Feeder feed;
};

TEST_F(Memory, AVariableIsOneBlockHoweverOftenItIsAskedFor) {
  Alloc(kBase, 0x60, 7);
  Alloc(kBase + 0x1000, 0x20, 8);
  Alloc(kBase, 0x60, 7);
  EXPECT_EQ(Probe(kBase + 8).memory, MemoryKind::kDevice);
  EXPECT_EQ(Probe(kBase + 0x1000).memory, MemoryKind::kManaged);
  EXPECT_EQ(feed.Of(OpKind::kAlloc).size(), 2u);
  // Its module went, and something else lies there.
  Alloc(kBase, 0x100);
  EXPECT_EQ(Probe(kBase + 0x80).end, kBase + 0x100);
  EXPECT_FALSE(feed.HasNote(1, "allocations over memory"));
}

TEST_F(Memory, AllocSaysWhatItIs) {
  Alloc(kBase, 0x100);
  Alloc(kBase + 0x1000, 0x100, 4);
  feed.Call(
      0,
      trace::Alloc{
          .address = kBase + 0x2000, .bytes = 8, .kind = 3, .context = kContext, .is_private = 1});
  feed.End();
  const auto allocs = feed.Of(OpKind::kAlloc);
  ASSERT_EQ(allocs.size(), 3u);
  EXPECT_EQ(allocs[0].op.object, 1u);
  EXPECT_EQ(allocs[0].op.value, 2u);
  EXPECT_EQ(allocs[0].op.stack, 3u);
  EXPECT_EQ(allocs[0].op.stream, 0u);
  EXPECT_EQ(allocs[0].accesses[0].end, kBase + 0x100);
  EXPECT_EQ(allocs[0].accesses[0].memory, MemoryKind::kDevice);
  EXPECT_EQ(allocs[1].accesses[0].memory, MemoryKind::kManaged);
  EXPECT_EQ(allocs[2].accesses[0].memory, MemoryKind::kPinned);
  EXPECT_EQ(allocs[2].op.flags, kPrivate);
  EXPECT_EQ(BufferLabel(feed.strings, allocs[1].op.name, allocs[1].op.object), "alloc#1");
}

TEST_F(Memory, AddressThatComesBackIsAnotherBuffer) {
  Alloc(kBase, 0x100);
  Free(kBase);
  Alloc(kBase, 0x200);
  Free(kBase);
  Free(kBase);
  feed.End();
  const auto frees = feed.Of(OpKind::kFree);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].op.object, 1u);
  EXPECT_EQ(frees[1].op.object, 2u);
  EXPECT_EQ(frees[1].accesses[0].end, kBase + 0x200);
  EXPECT_TRUE(feed.HasNote(1, "frees of memory whose allocation was not seen"));
}

TEST_F(Memory, FreeOfNothingIsNothing) {
  Free(0);
  PoolFree(0);
  feed.End();
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Memory, InteriorPointerReachesTheEndOfItsBlock) {
  Alloc(kBase, 0x1000);
  Alloc(kBase + 0x1000, 0x1000);
  EXPECT_EQ(Probe(kBase + 0xFFF).end, kBase + 0x1000);
  EXPECT_EQ(Probe(kBase + 0x1000).end, kBase + 0x2000);
  Free(kBase + 0x1000);
  EXPECT_EQ(Probe(kBase + 0x1000).end, 0u);
}

TEST_F(Memory, AllocationOverLiveMemoryEndsItUnjudged) {
  Alloc(kBase, 0x1000);
  Alloc(kBase + 0x800, 0x1000);
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kFree).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kFree).op.flags, kImplicitEnd);
  EXPECT_TRUE(feed.HasNote(1, "allocations over memory whose free was not seen"));
}

TEST_F(Memory, PoolBlockIsTheTenantOfItsBytes) {
  Alloc(kBase, 0x10000);
  PoolAlloc(kBase + 0x1000, 0x1000, kStreamB);
  EXPECT_EQ(Probe(kBase + 0x1800).end, kBase + 0x2000);
  EXPECT_EQ(Probe(kBase + 0x1800).memory, MemoryKind::kCaching);
  EXPECT_EQ(Probe(kBase).end, kBase + 0x1000);  // the segment, up to the pool block
  EXPECT_EQ(Probe(kBase).memory, MemoryKind::kDevice);
  EXPECT_EQ(Probe(kBase + 0x2000).end, kBase + 0x10000);
  PoolAlloc(kBase + 0x4000, 0x1000);  // cached gaps are cut
  EXPECT_EQ(Probe(kBase + 0x2000).end, kBase + 0x4000);
  PoolFree(kBase + 0x1000);
  PoolFree(kBase + 0x4000);
  EXPECT_EQ(Probe(kBase + 0x1800).end, kBase + 0x10000);
  const auto allocs = feed.Of(OpKind::kAlloc);
  EXPECT_EQ(allocs[1].op.stream, 2u);
  EXPECT_EQ(allocs[1].op.value, 2u);
  EXPECT_NE(allocs[1].op.aux, 0u);
  EXPECT_EQ(allocs[1].accesses[0].memory, MemoryKind::kCaching);
}

TEST_F(Memory, PoolInPinnedMemoryIsAccessedAsPinned) {
  Alloc(kBase, 0x10000, 2);
  PoolAlloc(kBase, 0x1000);
  EXPECT_EQ(Probe(kBase).memory, MemoryKind::kPinned);
  EXPECT_EQ(feed.Of(OpKind::kAlloc)[1].accesses[0].memory, MemoryKind::kCaching);
}

TEST_F(Memory, SegmentOfAPoolIsNotJudgedItself) {
  Alloc(kBase, 0x10000);
  PoolAlloc(kBase, 0x1000);
  PoolFree(kBase);
  Free(kBase);
  feed.End();
  const auto frees = feed.Of(OpKind::kFree);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].op.object, 2u);
  EXPECT_EQ(frees[0].op.flags, 0);
  EXPECT_EQ(frees[1].op.object, 1u);
  EXPECT_EQ(frees[1].op.flags, kImplicitEnd);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Memory, SegmentFreedUnderItsBlocksEndsThem) {
  Alloc(kBase, 0x10000);
  PoolAlloc(kBase, 0x1000);
  Free(kBase);
  PoolFree(kBase);
  feed.End();
  const auto frees = feed.Of(OpKind::kFree);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].op.object, 2u);
  EXPECT_TRUE(feed.HasNote(1, "pool blocks were still allocated"));
  EXPECT_TRUE(feed.HasNote(1, "frees of memory"));
}

TEST_F(Memory, ForgottenPoolFreeIsCountedAndUnjudged) {
  PoolAlloc(kBase, 0x1000);
  PoolAlloc(kBase + 0x800, 0x1000);
  PoolFree(kBase + 0x800);
  feed.End();
  const auto frees = feed.Of(OpKind::kFree);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].op.flags, kImplicitEnd);
  EXPECT_EQ(frees[1].op.flags, 0);
  EXPECT_TRUE(feed.HasNote(1, "allocations over memory"));
}

TEST_F(Memory, PoolFreeByAnotherPoolIsUnknown) {
  PoolAlloc(kBase, 0x1000);
  feed.Note(0, NotePoolFree{.pool = 0xBAD, .address = kBase}).End();
  EXPECT_TRUE(feed.Of(OpKind::kFree).empty());
  EXPECT_TRUE(feed.HasNote(1, "frees of memory"));
}

TEST_F(Memory, EmptyPoolBlockIsFoundByItsFree) {
  PoolAlloc(kBase, 0);
  PoolFree(kBase);
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kFree).op.object, 1u);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Memory, RecordUseNamesBlockAndStream) {
  PoolAlloc(kBase, 0x1000);
  feed.Note(0, NotePoolRecordUse{
                   .pool = kPool, .address = kBase + 8, .stream = kStreamB, .context = kContext});
  feed.Note(0, NotePoolRecordUse{
                   .pool = kPool, .address = 0x100, .stream = kStreamB, .context = kContext});
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kRecordStream).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kRecordStream).op.stream, 2u);
  EXPECT_TRUE(feed.HasNote(1, "pool_record_use notes"));
}

// A caching allocator of pinned memory: inside the driver's allocation, of no stream, again and
// again.
TEST_F(Memory, HostPoolBlocksArePinnedAndBelongToNobody) {
  Alloc(kBase, 0x1000, 2);
  for (int round = 0; round < 2; ++round) {
    feed.Note(0, NotePoolAlloc{.pool = kPool, .address = kBase, .bytes = 0x800, .host = 1});
    feed.Note(
        0, NotePoolRecordUse{.pool = 0, .address = kBase, .stream = kStreamB, .context = kContext});
    PoolFree(kBase);
  }
  Free(kBase);
  feed.End();
  const auto allocs = feed.Of(OpKind::kAlloc);
  ASSERT_EQ(allocs.size(), 3u);
  for (size_t i : {1, 2}) {
    EXPECT_EQ(allocs[i].op.object, i + 1);
    EXPECT_EQ(allocs[i].op.stream, 0u);
    EXPECT_EQ(allocs[i].accesses[0].memory, MemoryKind::kPinned);
    EXPECT_EQ(allocs[i].accesses[0].end, kBase + 0x800);
  }
  const auto records = feed.Of(OpKind::kRecordStream);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].op.object, 3u);
  EXPECT_EQ(records[1].op.flags, kAllocatorInternal);
  const auto frees = feed.Of(OpKind::kFree);
  ASSERT_EQ(frees.size(), 3u);
  EXPECT_EQ(frees[1].op.object, 3u);
  EXPECT_EQ(frees[1].op.flags, 0u);            // judged as any free of pinned memory
  EXPECT_EQ(frees[2].op.flags, kImplicitEnd);  // its bytes were the pool's, and judged there
}

TEST_F(Memory, AsyncAllocationAndFreeAreInStreamOrder) {
  feed.Call(0, AllocAsync{.address = kBase, .bytes = 64, .stream = kStreamA, .context = kContext});
  feed.Call(0, AllocAsync{.address = kBase + 64,
                          .bytes = 64,
                          .pool = 0x77,
                          .stream = kStreamA,
                          .context = kContext});
  feed.Call(0, FreeAsync{.address = kBase, .stream = kStreamB, .context = kContext});
  feed.Call(0, FreeAsync{.address = kBase, .stream = kStreamB, .context = kContext});
  feed.Call(0, trace::Free{.address = kBase + 64, .kind = 1}).End();
  const auto allocs = feed.Of(OpKind::kAllocAsync);
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(allocs[0].op.stream, 1u);
  EXPECT_EQ(allocs[0].accesses[0].memory, MemoryKind::kPool);
  EXPECT_NE(allocs[0].op.aux, allocs[1].op.aux);
  EXPECT_EQ(feed.The(OpKind::kFreeAsync).op.stream, 2u);
  EXPECT_EQ(feed.The(OpKind::kFreeAsync).op.object, 1u);
  EXPECT_EQ(feed.The(OpKind::kFree).op.object, 2u);
  EXPECT_TRUE(feed.HasNote(1, "frees of memory"));
}

TEST_F(Memory, NameMayComeAfterTheAllocation) {
  Alloc(kBase, 0x1000);
  feed.Text(1, "activations").Text(2, "row 1").Note(0, NoteBuffer{kBase, 0x1000, 1});
  feed.Note(0, NoteBuffer{kBase, 0x1000, 1}).Note(0, NoteBuffer{kBase + 0x100, 0x100, 2});
  Free(kBase);
  feed.End();
  const auto names = feed.Of(OpKind::kBufferName);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].op.object, 1u);
  EXPECT_EQ(feed.NameOf(names[0].op), "activations");
  EXPECT_EQ(names[1].accesses[0].begin, kBase + 0x100);
  EXPECT_EQ(feed.NameOf(feed.The(OpKind::kFree).op), "activations");
}

TEST_F(Memory, NameForMostOfABlockIsItsName) {
  Alloc(kBase, 0x1000);
  Alloc(kBase + 0x1000, 0x1000);
  feed.Text(1, "image").Note(0, NoteBuffer{kBase, 0xF00, 1});  // without the padding
  feed.Note(0, NoteBuffer{kBase + 0x1000, 0x100, 1});          // the first part of an arena
  Free(kBase);
  Free(kBase + 0x1000);
  feed.End();
  const auto names = feed.Of(OpKind::kBufferName);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].accesses[0].end, kBase + 0x1000);
  EXPECT_EQ(names[1].accesses[0].end, kBase + 0x1100);
  EXPECT_EQ(feed.NameOf(feed.Of(OpKind::kFree)[0].op), "image");
  EXPECT_EQ(feed.Of(OpKind::kFree)[1].op.name, 0u);
}

TEST_F(Memory, NameOfHostMemoryMakesItABuffer) {
  feed.Text(1, "batch").Text(2, "labels").Note(0, NoteBuffer{kBase, 0x1000, 1});
  feed.Note(0, NoteBuffer{kBase + 0x800, 0x1000, 2});  // the vector is gone, another took its place
  Alloc(kBase + 0x800, 0x1000, 3);                     // and is registered
  feed.End();
  const auto allocs = feed.Of(OpKind::kAlloc);
  ASSERT_EQ(allocs.size(), 3u);
  EXPECT_EQ(allocs[0].accesses[0].memory, MemoryKind::kPageable);
  EXPECT_EQ(feed.NameOf(allocs[0].op), "batch");
  EXPECT_EQ(feed.NameOf(allocs[2].op), "labels");
  EXPECT_EQ(allocs[2].accesses[0].memory, MemoryKind::kPinned);
  EXPECT_FALSE(feed.HasNote(1, "allocations over memory"));
  EXPECT_TRUE(feed.HasNote(2, "names for memory that is not allocated"));
}

TEST_F(Memory, NameOfUnknownMemoryStopsAtItsNeighbour) {
  Alloc(kBase + 0x800, 0x1000);
  feed.Text(1, "batch").Note(0, NoteBuffer{kBase, 0x1000, 1}).End();
  EXPECT_EQ(feed.Of(OpKind::kAlloc)[1].accesses[0].end, kBase + 0x800);
}

TEST_F(Memory, FreesDuringExitAreMarked) {
  Alloc(kBase, 0x1000);
  feed.Note(0, ProcessEnd{});
  Free(kBase);
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kFree).op.flags, kProcessExit);
  EXPECT_TRUE(feed.importer.process().ended);
}

}  // namespace
}  // namespace ss
