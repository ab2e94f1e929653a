// Kernels, copies, memsets, host functions and the notes that say what they touch.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

constexpr uint64_t kX = 0x7f00'0000'0000, kY = 0x7f00'0010'0000;

class Work : public ::testing::Test {
 protected:
  Work() {
    feed.Context().Streams().Text(1, "axpy").Note(0, Function{.function = kKernel, .text_id = 1});
    feed.Call(0, trace::Alloc{.address = kX, .bytes = 0x1000, .kind = 1, .context = kContext});
    feed.Call(0, trace::Alloc{.address = kY, .bytes = 0x1000, .kind = 2, .context = kContext});
  }
  void Launch(std::vector<uint64_t> words, uint64_t stream = kStreamA, int64_t result = 0) {
    feed.Call(0, trace::Launch{.function = kKernel,
                               .stream = stream,
                               .context = kContext,
                               .words = std::move(words),
                               .result = result,
                               .stack = 12});
  }
  void Copy(uint64_t destination, uint64_t source, uint64_t bytes, bool exact = true) {
    feed.Call(0, trace::Copy{.destination = destination,
                             .source = source,
                             .bytes = bytes,
                             .stream = kStreamA,
                             .context = kContext,
                             .exact = exact});
  }
  Feeder feed;
};

TEST_F(Work, DeclaredArgumentReachesFromPointerToEndOfBlock) {
  feed.Note(0, NoteKernelAccess{kKernel, 8, kWrite}).Note(0, NoteKernelAccess{kKernel, 0, kRead});
  Launch({0, kX, 8, kY + 0x100, 16, 42});
  feed.End();
  const Seen kernel = feed.The(OpKind::kKernel);
  EXPECT_EQ(feed.NameOf(kernel.op), "axpy");
  EXPECT_EQ(kernel.op.stack, 12u);
  EXPECT_EQ(kernel.op.stream, 1u);
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].begin, kX);
  EXPECT_EQ(kernel.accesses[0].end, kX + 0x1000);
  EXPECT_EQ(kernel.accesses[0].mode, kRead);
  EXPECT_EQ(kernel.accesses[0].memory, MemoryKind::kDevice);
  EXPECT_EQ(kernel.accesses[0].direction, Evidence::kDeclared);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kAssumed);
  EXPECT_EQ(kernel.accesses[1].begin, kY + 0x100);
  EXPECT_EQ(kernel.accesses[1].end, kY + 0x1000);
  EXPECT_EQ(kernel.accesses[1].memory, MemoryKind::kPinned);
  EXPECT_EQ(feed.importer.coverage().launches_resolved, 1u);
}

TEST_F(Work, UndeclaredPointerLeavesTheLaunchUnresolved) {
  feed.Note(0, NoteKernelAccess{kKernel, 0, kRead});
  Launch({0, kX, 8, kY});
  Launch({0, kX, 8, kY + 0x1000});  // one past the end: no block
  feed.End();
  const Coverage coverage = feed.importer.coverage();
  EXPECT_EQ(coverage.launches, 2u);
  EXPECT_EQ(coverage.launches_resolved, 1u);
  EXPECT_FALSE(coverage.complete);
  EXPECT_EQ(feed.Of(OpKind::kKernel)[0].accesses.size(), 1u);
}

TEST_F(Work, DeclaredAsUntouchedIsKnownAndNoAccess) {
  feed.Note(0, NoteKernelAccess{kKernel, 0, 0});
  Launch({0, kX});
  feed.End();
  EXPECT_TRUE(feed.The(OpKind::kKernel).accesses.empty());
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Work, DeclaredPointerToUnknownMemoryIsUnresolvedNullIsNot) {
  feed.Note(0, NoteKernelAccess{kKernel, 0, kRead});
  Launch({0, 0});
  Launch({0, 0x1234'5000});
  feed.End();
  EXPECT_EQ(feed.importer.coverage().launches_resolved, 1u);
  EXPECT_TRUE(feed.HasNote(1, "declared kernel arguments"));
}

TEST_F(Work, AccessNotesReplaceWhatIsDeclared) {
  feed.Note(0, NoteKernelAccess{kKernel, 0, kRead});
  feed.Note(0, NoteAccess{kStreamA, kX + 16, 32, kWrite});
  feed.Note(0, NoteAccess{kStreamA, kX + 64, 8, kRead});
  feed.Note(0, NoteAccess{kStreamB, kY, 8, kRead});  // for another operation
  Launch({0, kX, 8, kY});
  Launch({0, kX});
  feed.End();
  const auto kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels[0].accesses.size(), 2u);
  EXPECT_EQ(kernels[0].accesses[0].begin, kX + 16);
  EXPECT_EQ(kernels[0].accesses[0].end, kX + 48);
  EXPECT_EQ(kernels[0].accesses[0].mode, kWrite);
  EXPECT_EQ(kernels[0].accesses[0].direction, Evidence::kAnnotated);
  EXPECT_EQ(kernels[1].accesses[0].direction, Evidence::kDeclared);
  EXPECT_EQ(feed.importer.coverage().launches_resolved, 2u);
  EXPECT_TRUE(feed.HasNote(1, "access or fill notes were followed by no operation"));
}

TEST_F(Work, AccessNoteIsForItsOwnThread) {
  feed.Note(1, NoteAccess{kStreamA, kX, 32, kWrite});
  Launch({});
  feed.End();
  EXPECT_TRUE(feed.The(OpKind::kKernel).accesses.empty());
}

TEST_F(Work, FillGivesAnUnknownKernelItsWrite) {
  feed.Note(0, NoteFill{kStreamA, kX, 0x1000});
  Launch({0, kX});
  feed.Note(0, NoteFill{kStreamA, kX, 0x1000});
  feed.Call(0,
            trace::Memset{.destination = kX, .bytes = 16, .stream = kStreamA, .context = kContext});
  feed.End();
  const Seen kernel = feed.The(OpKind::kKernel);
  EXPECT_EQ(kernel.op.flags, kFill);
  ASSERT_EQ(kernel.accesses.size(), 1u);
  EXPECT_EQ(kernel.accesses[0].mode, kWrite);
  EXPECT_EQ(kernel.accesses[0].end, kX + 0x1000);
  EXPECT_EQ(feed.The(OpKind::kMemset).op.flags, kFill);
  EXPECT_EQ(feed.The(OpKind::kMemset).accesses[0].end, kX + 16);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Work, FailedCallsHaveNoEffectAndUseUpTheirNotes) {
  feed.Note(0, NoteAccess{kStreamA, kX, 32, kWrite});
  Launch({0, kX}, kStreamA, 1);
  Launch({});
  feed.Call(0, trace::Alloc{.address = 0x5000, .bytes = 8, .kind = 1, .result = 2});
  feed.Call(0, trace::EventRecord{.event = kEventE, .stream = kStreamA, .result = 400});
  feed.Call(0, trace::StreamQuery{.stream = kStreamA, .context = kContext, .result = 700});
  feed.Call(0, trace::StreamQuery{.stream = kStreamA, .context = kContext, .result = 600});
  feed.End();
  EXPECT_TRUE(feed.The(OpKind::kKernel).accesses.empty());
  EXPECT_EQ(feed.Of(OpKind::kAlloc).size(), 2u);
  EXPECT_TRUE(feed.Of(OpKind::kEventRecord).empty());
  EXPECT_EQ(feed.The(OpKind::kStreamQuery).op.flags, kNotReady);
  EXPECT_TRUE(feed.HasNote(4, "calls failed"));
  EXPECT_EQ(feed.importer.coverage().launches, 1u);
}

TEST_F(Work, FunctionHandleOfAnotherModuleLosesOldDeclarations) {
  feed.Note(0, NoteKernelAccess{kKernel, 0, kRead});
  Launch({0, kX});
  feed.Text(2, "other").Note(0, NoteKernelAccess{kKernel, 8, kWrite});
  feed.Note(0, Function{.function = kKernel, .text_id = 2});
  Launch({0, kX, 8, kY});
  feed.End();
  const auto kernels = feed.Of(OpKind::kKernel);
  EXPECT_EQ(feed.NameOf(kernels[1].op), "other");
  ASSERT_EQ(kernels[1].accesses.size(), 1u);
  EXPECT_EQ(kernels[1].accesses[0].begin, kY);
}

TEST_F(Work, SameDefinitionAgainKeepsDeclarations) {
  feed.Note(0, NoteKernelAccess{kKernel, 0, kRead});
  Launch({0, kX});
  feed.Note(0, Function{.function = kKernel, .text_id = 1});
  Launch({0, kX});
  feed.End();
  EXPECT_EQ(feed.Of(OpKind::kKernel)[1].accesses.size(), 1u);
}

TEST_F(Work, NameThatComesAfterTheFirstLaunchIsCounted) {
  feed.Call(0, trace::Launch{.function = 0xF99, .stream = kStreamA, .context = kContext});
  feed.Note(1, Function{.function = 0xF99, .text_id = 77}).Text(77, "late");
  feed.Call(0, trace::Launch{.function = 0xF99, .stream = kStreamA, .context = kContext}).End();
  EXPECT_EQ(feed.NameOf(feed.Of(OpKind::kKernel)[1].op), "late");
  EXPECT_TRUE(feed.HasNote(1, "launches came before their kernel's name"));
}

TEST_F(Work, ProgrammaticLaunchIsAssumedToWait) {
  feed.Call(0,
            trace::Launch{.function = kKernel, .stream = kStreamA, .context = kContext, .kind = 2});
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kKernel).op.flags, kPdl | kPdlWait);
  EXPECT_TRUE(feed.HasNote(1, "programmatic launches"));
}

TEST_F(Work, CopyHasSourceThenDestination) {
  Copy(kX, kY + 8, 64);
  Copy(kX, 0x7fff'0000'0000, 64, false);
  feed.End();
  const auto copies = feed.Of(OpKind::kCopy);
  ASSERT_EQ(copies[0].accesses.size(), 2u);
  EXPECT_EQ(copies[0].accesses[0].begin, kY + 8);
  EXPECT_EQ(copies[0].accesses[0].end, kY + 72);
  EXPECT_EQ(copies[0].accesses[0].mode, kRead);
  EXPECT_EQ(copies[0].accesses[0].memory, MemoryKind::kPinned);
  EXPECT_EQ(copies[0].accesses[1].mode, kWrite);
  EXPECT_EQ(copies[0].accesses[1].memory, MemoryKind::kDevice);
  EXPECT_EQ(copies[0].accesses[1].extent, Evidence::kExact);
  EXPECT_EQ(copies[1].accesses[0].memory, MemoryKind::kPageable);
  EXPECT_EQ(copies[1].accesses[0].extent, Evidence::kAssumed);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Work, CopyNotesReplaceTheirSideOnly) {
  feed.Note(0, NoteAccess{kStreamA, kX, 8, kWrite})
      .Note(0, NoteAccess{kStreamA, kX + 64, 8, kWrite});
  Copy(kX, kY, 72, false);
  feed.End();
  const Seen copy = feed.The(OpKind::kCopy);
  ASSERT_EQ(copy.accesses.size(), 3u);
  EXPECT_EQ(copy.accesses[0].begin, kY);
  EXPECT_EQ(copy.accesses[0].extent, Evidence::kAssumed);
  EXPECT_EQ(copy.accesses[1].end, kX + 8);
  EXPECT_EQ(copy.accesses[2].begin, kX + 64);
}

TEST_F(Work, AddressWhereNoHostMemoryIsIsUnknown) {
  Copy(kX, 0x20'0000'0000, 64);
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kCopy).accesses[0].memory, MemoryKind::kUnknown);
  EXPECT_TRUE(feed.HasNote(1, "copies or memsets touched memory of unknown kind"));
}

TEST_F(Work, UnknownAddressIsNotCalledPageableOnceMemoryComesAliveUnseen) {
  Copy(kX, 0x7fff'0000'0000, 64);
  feed.Text(5, "cuImportExternalMemory").Note(0, Unmodelled{5, 1});
  Copy(kX, 0x7fff'0000'0000, 64);
  feed.End();
  const auto copies = feed.Of(OpKind::kCopy);
  EXPECT_EQ(copies[0].accesses[0].memory, MemoryKind::kPageable);
  EXPECT_EQ(copies[1].accesses[0].memory, MemoryKind::kUnknown);
}

TEST_F(Work, EmptyAndImpossibleRangesAreNoOperation) {
  Copy(kX, kY, 0);
  Copy(kX, ~uint64_t{7}, 64);
  Copy(kX, kY, ~uint64_t{0});
  feed.Call(0,
            trace::Memset{.destination = kX, .bytes = 0, .stream = kStreamA, .context = kContext});
  feed.End();
  EXPECT_TRUE(feed.Of(OpKind::kCopy).empty());
  EXPECT_TRUE(feed.Of(OpKind::kMemset).empty());
  EXPECT_TRUE(feed.HasNote(3, "address ranges beyond 48 bits"));
}

// Three rows of 8 bytes: 64 apart where they go to, without a gap where they come from.
TEST_F(Work, CopiesOfRowsTouchTheRowsOfEachSide) {
  feed.Call(0, trace::Copy{.destination = kX,
                           .source = kY,
                           .bytes = 2 * 64 + 8,
                           .stream = kStreamA,
                           .context = kContext,
                           .box = {8, 3, 1, 64, 192, 8, 24}});
  feed.End();
  const Seen copy = feed.The(OpKind::kCopy);
  EXPECT_EQ(copy.accesses[0].shape, 0);
  EXPECT_EQ(copy.accesses[0].end, kY + 24);
  EXPECT_EQ(copy.accesses[0].extent, Evidence::kExact);
  EXPECT_EQ(copy.accesses[1].end, kX + 136);
  EXPECT_EQ(copy.accesses[1].extent, Evidence::kExact);
  ASSERT_NE(copy.accesses[1].shape, 0);
  EXPECT_EQ(feed.names.shapes.Get(copy.accesses[1].shape), (Shape{8, {{64, 3}}}));
}

// The first copy of no bytes is none: the next one begins the batch.
TEST_F(Work, BatchesSayWhenSourcesAreReadAndWhatIsOfOneBatch) {
  auto copy = [&](uint64_t bytes, uint64_t order, uint64_t batch, uint64_t node = 0) {
    feed.Call(0, trace::Copy{.destination = kX,
                             .source = kY,
                             .bytes = bytes,
                             .stream = kStreamA,
                             .context = kContext,
                             .exact = 1,
                             .graph_node = node,
                             .source_order = order,
                             .batch = batch});
  };
  copy(0, 1, 1);
  copy(8, 3, 2);
  copy(8, 2, 2);
  copy(8, 1, 1);
  copy(8, 1, 0);
  feed.End();
  std::vector<uint32_t> flags;
  for (const Seen& seen : feed.Of(OpKind::kCopy)) flags.push_back(seen.op.flags);
  EXPECT_EQ(flags, (std::vector<uint32_t>{kBatchBegin | kSourceAnyTime, kSameBatch | kSourceInCall,
                                          kBatchBegin, 0}));
}

TEST_F(Work, MemsetsOfRowsTouchTheRows) {
  feed.Call(0, trace::Memset{.destination = kX,
                             .bytes = 2 * 64 + 8,
                             .stream = kStreamA,
                             .context = kContext,
                             .bounding = 1,
                             .pitch = 64,
                             .rows = 3});
  feed.End();
  const Access set = feed.The(OpKind::kMemset).accesses[0];
  EXPECT_EQ(set.extent, Evidence::kExact);
  ASSERT_NE(set.shape, 0);
  EXPECT_EQ(feed.names.shapes.Get(set.shape), (Shape{8, {{64, 3}}}));
}

// Numbers that no driver would take: what is between the first and the last byte, and not for sure.
TEST_F(Work, BoxesThatMakeNoSenseAreAnAssumedExtent) {
  const std::vector<std::vector<uint64_t>> boxes = {
      {8, 3},
      {0, 3, 1, 64, 192, 8, 24},
      {8, 3, 0, 64, 192, 8, 24},
      {8, 3, 2, 64, 100, 8, 4},
      {8, ~uint64_t{0}, 2, 64, 100, 64, 100},
  };
  for (const std::vector<uint64_t>& box : boxes) {
    feed.Call(0, trace::Copy{.destination = kX,
                             .source = kY,
                             .bytes = 64,
                             .stream = kStreamA,
                             .context = kContext,
                             .box = box});
  }
  for (uint64_t rows : {0, 2, 4}) {
    feed.Call(0, trace::Memset{.destination = kX,
                               .bytes = 128,
                               .stream = kStreamA,
                               .context = kContext,
                               .bounding = 1,
                               .pitch = 128,
                               .rows = rows});
  }
  feed.End();
  EXPECT_EQ(feed.Of(OpKind::kCopy).size(), boxes.size());
  for (const Seen& seen : feed.seen) {
    if (seen.op.kind != OpKind::kCopy && seen.op.kind != OpKind::kMemset) continue;
    EXPECT_EQ(seen.accesses.back().shape, 0);
    EXPECT_EQ(seen.accesses.back().extent, Evidence::kAssumed);
  }
}

// As of recordings that are older than the fields for rows.
TEST_F(Work, RowsWithGapsThatAreNotDescribedAreAnAssumedExtent) {
  for (uint64_t bounding : {0, 1}) {
    feed.Call(0, trace::Memset{.destination = kX,
                               .bytes = 72,
                               .stream = kStreamA,
                               .context = kContext,
                               .bounding = bounding});
  }
  feed.End();
  const auto sets = feed.Of(OpKind::kMemset);
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].accesses[0].extent, Evidence::kExact);
  EXPECT_EQ(sets[1].accesses[0].extent, Evidence::kAssumed);
}

TEST_F(Work, HostFunctionGetsItsAccessesWhenItRuns) {
  feed.Call(0,
            trace::HostFunction{.stream = kStreamB, .context = kContext, .token = 31, .stack = 4});
  Launch({});
  feed.Note(5, NoteHostAccess{kY, 16, kWrite, 31, 6});
  feed.Note(0, NoteHostAccess{kY, 16, kRead, 0, 7});
  feed.Note(5, NoteHostAccess{kY, 16, kWrite, 99, 8}).End();
  const Op function = feed.The(OpKind::kHostFn).op;
  EXPECT_EQ(function.stream, 2u);
  const auto accesses = feed.Of(OpKind::kHostAccess);
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].op.aux, 1u);
  EXPECT_EQ(accesses[0].op.value, function.id);
  EXPECT_EQ(accesses[0].op.stream, function.stream);
  EXPECT_EQ(accesses[0].op.stack, 6u);
  EXPECT_EQ(accesses[0].accesses[0].mode, kWrite);
  EXPECT_EQ(accesses[0].accesses[0].memory, MemoryKind::kPinned);
  EXPECT_EQ(accesses[1].op.aux, 0u);
  EXPECT_EQ(accesses[1].op.host, 0);
  EXPECT_TRUE(feed.HasNote(1, "accesses inside host functions that were not seen"));
}

TEST_F(Work, DeviceFlagMarksKernelsUntilTheMemoryEnds) {
  feed.Note(0, NoteDeviceFlag{kX + 0x40, 0x10});
  Launch({0, kX + 0x48});
  Launch({0, kX});
  feed.Note(0, NoteAccess{kStreamA, kX, 0x41, kRead});
  Launch({});
  feed.Call(0, trace::Free{.address = kX, .kind = 1});
  feed.Call(0, trace::Alloc{.address = kX, .bytes = 0x1000, .kind = 1, .context = kContext});
  Launch({0, kX + 0x48});
  feed.End();
  const auto kernels = feed.Of(OpKind::kKernel);
  EXPECT_EQ(kernels[0].op.flags, kPolling);
  EXPECT_EQ(kernels[1].op.flags, 0);
  EXPECT_EQ(kernels[2].op.flags, kPolling);
  EXPECT_EQ(kernels[3].op.flags, 0);
}

TEST_F(Work, AddressesCarryTheRank) {
  Feeder ranked({.rank = 3});
  ranked.Context().Streams();
  ranked.Call(0, trace::Alloc{.address = kX, .bytes = 8, .kind = 1, .context = kContext});
  ranked.Call(
      0, trace::Memset{.destination = kX, .bytes = 8, .stream = kStreamA, .context = kContext});
  ranked.End();
  EXPECT_EQ(ranked.The(OpKind::kMemset).accesses[0].begin, kX | uint64_t{3} << 48);
  EXPECT_EQ(ranked.The(OpKind::kMemset).accesses[0].memory, MemoryKind::kDevice);
  EXPECT_EQ(ranked.The(OpKind::kAlloc).op.value >> 32, 3u);
}

}  // namespace
}  // namespace ss
