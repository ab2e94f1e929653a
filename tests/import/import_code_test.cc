// Launches that are judged by a summary of their machine code. The summary of a real cubin's kernel
// is put into the cache by hand, so that each form of it can be tried without a disassembler.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/kernels/analyse.h"
#include "tests/import/feed.h"

namespace ss {
namespace {

using kernels::KernelSummary;
using kernels::Root;

constexpr uint64_t kX = 0x7f00'0000'0000, kY = 0x7f00'0010'0000, kSize = 0x1000;
constexpr uint64_t kModule = 0xD00;
const char kCubin[] = SS_SOURCE_DIR "/tests/kernels_e2e/fixtures/kernels_sm90.cubin";

class Code : public ::testing::Test {
 protected:
  Code()
      : cache_(
            (std::filesystem::temp_directory_path() / ("import_code_" + std::to_string(getpid())))
                .string()),
        registry_(cache_, Fail("", "no disassembler here")),
        feed({.kernels = &registry_}) {
    feed.registry = &registry_;
  }
  ~Code() override { std::filesystem::remove_all(cache_.directory()); }

  static kernels::Access Touches(int32_t offset, const std::string& modes,
                                 Root root = Root::kParam) {
    kernels::Access access;
    access.root = root;
    access.offset = offset;
    access.end = offset + 8;
    access.reads = modes.find('R') != modes.npos;
    access.writes = modes.find('W') != modes.npos;
    access.updates = modes.find('A') != modes.npos;
    return access;
  }

  // The kernel of this name in the cubin, known to do that.
  void Know(std::vector<kernels::Access> accesses, std::vector<std::string> unresolved = {},
            bool waits = false) {
    std::ifstream file(kCubin, std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    Result<kernels::Cubin> cubin = kernels::ReadCubin(image, kCubin);
    ASSERT_TRUE(cubin) << cubin.error().Text();
    KernelSummary summary;
    summary.name = cubin->kernels.front().name;
    summary.arch = cubin->arch;
    summary.hash = kernels::HashOf(*cubin, cubin->kernels.front());
    summary.accesses = std::move(accesses);
    summary.unresolved = std::move(unresolved);
    summary.waits_for_grid = summary.launches_dependents = waits;
    cache_.Put(summary);
    Begin(summary.name);
  }
  void Begin(const std::string& kernel, bool with_image = true) {
    feed.Call(0, trace::ContextCreate{kContext, 0, 90}).Streams().Text(1, kernel);
    if (with_image) {
      feed.Note(0, trace::Image{.image = 1, .kind = 1, .path = kCubin});
      feed.Call(0, trace::ImageLoad{1, kModule});
    }
    feed.Note(0, trace::Function{.function = kKernel, .text_id = 1, .module = kModule});
    for (uint64_t at : {kX, kY}) {
      feed.Call(0, trace::Alloc{.address = at, .bytes = kSize, .kind = 1, .context = kContext});
    }
  }
  Seen Launch(std::vector<uint64_t> words, uint64_t kind = 0) {
    feed.Call(0, trace::Launch{.function = kKernel,
                               .stream = kStreamA,
                               .context = kContext,
                               .kind = kind,
                               .words = std::move(words)});
    feed.End();
    return feed.The(OpKind::kKernel);
  }
  uint64_t resolved() const { return feed.importer.coverage().launches_resolved; }

  kernels::Cache cache_;
  kernels::Registry registry_;
  Feeder feed;
};

TEST_F(Code, APointerReachesToTheEndOfItsBlock) {
  Know({Touches(0, "R"), Touches(8, "W"), Touches(16, "A")});
  const Seen kernel = Launch({0, kX + 0x10, 8, kY});
  ASSERT_EQ(kernel.accesses.size(), 2u) << "nothing is passed at 16";
  EXPECT_EQ(kernel.accesses[0].begin, kX + 0x10);
  EXPECT_EQ(kernel.accesses[0].end, kX + kSize);
  EXPECT_EQ(kernel.accesses[0].mode, kRead);
  EXPECT_EQ(kernel.accesses[0].direction, Evidence::kStatic);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kAssumed);
  EXPECT_EQ(kernel.accesses[1].mode, kWrite);
  EXPECT_EQ(resolved(), 1u);
}

// Hundreds of megabytes that say nothing. The driver's name for them is mangled.
TEST_F(Code, NcclsKernelsAreNotRead) {
  Begin("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE");
  Launch({0, kX});
  const std::vector<std::string> notes = feed.importer.coverage().notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.ends_with("a kernel of NCCL, whose calls are seen instead");
  })) << ::testing::PrintToString(notes);
}

// Neighbouring words of one block, each given a pointer of its own: known apart.
TEST_F(Code, KnownBytesAreTheExtent) {
  kernels::Access word = Touches(0, "W"), before = Touches(8, "R"), parts = Touches(16, "W");
  word.first = 0, word.last = 4;
  before.first = -8, before.last = 8;
  parts.first = 0, parts.last = 100, parts.scattered = true;
  Know({word, before, parts});
  const Seen kernel = Launch({0, kX + 4, 8, kX, 16, kY + kSize - 50});
  ASSERT_EQ(kernel.accesses.size(), 3u);
  EXPECT_EQ(kernel.accesses[0].begin, kX + 4);
  EXPECT_EQ(kernel.accesses[0].end, kX + 8);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kStatic);
  EXPECT_EQ(kernel.accesses[1].begin, kX) << "not beyond the block";
  EXPECT_EQ(kernel.accesses[1].end, kX + 8);
  EXPECT_EQ(kernel.accesses[2].end, kY + kSize);
  EXPECT_EQ(kernel.accesses[2].extent, Evidence::kAssumed);
}

TEST_F(Code, OneOfSeveralWordsIsNoProof) {
  kernels::Access access = Touches(0, "W");
  access.ambiguous = true;
  Know({access});
  EXPECT_EQ(Launch({0, kX}).accesses.at(0).direction, Evidence::kAssumed);
}

TEST_F(Code, OfATableOnlyItsStepsAreTaken) {
  kernels::Access table = Touches(0, "W", Root::kParamTable);
  table.end = 64;
  table.stride = 16;
  Know({table});
  const Seen kernel = Launch({0, kX, 8, kX + 0x40, 16, kY, 48, 0x1234, 64, kX});
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].begin, kX);
  EXPECT_EQ(kernel.accesses[1].begin, kY);
  EXPECT_EQ(kernel.accesses[1].direction, Evidence::kAssumed);
}

TEST_F(Code, ATensorMapHasItsOwnExtent) {
  Know({Touches(64, "R", Root::kTensorMap)});
  feed.Note(0, trace::TensorMap{.first_word = kX + 0x100, .address = kX + 0x100, .bytes = 0x80});
  const Seen kernel = Launch({64, kX + 0x100});
  ASSERT_EQ(kernel.accesses.size(), 1u);
  EXPECT_EQ(kernel.accesses[0].begin, kX + 0x100);
  EXPECT_EQ(kernel.accesses[0].end, kX + 0x180);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kExact);
  EXPECT_EQ(resolved(), 1u);
}

TEST_F(Code, AMapOfAnEarlierTenantSaysNothing) {
  Know({Touches(64, "R", Root::kTensorMap)});
  feed.Note(0, trace::TensorMap{.first_word = kX, .address = kX, .bytes = 0x80});
  feed.Call(0, trace::Free{.address = kX, .kind = 1});
  feed.Call(0, trace::Alloc{.address = kX, .bytes = kSize, .kind = 1, .context = kContext});
  EXPECT_EQ(Launch({64, kX}).accesses.at(0).end, kX + kSize);
}

TEST_F(Code, WithoutItsMapATensorIsUnknown) {
  Know({Touches(64, "R", Root::kTensorMap)});
  EXPECT_TRUE(Launch({64, 0x7fff'0000'0000}).accesses.empty());
  EXPECT_EQ(resolved(), 0u);
}

TEST_F(Code, PointersFromMemoryAreUnknown) {
  Know({Touches(0, "R"), Touches(0, "W", Root::kIndirect)});
  EXPECT_EQ(Launch({0, kX}).accesses.size(), 1u);
  EXPECT_EQ(resolved(), 0u);
  EXPECT_TRUE(feed.HasNote("1 launches of "));
}

TEST_F(Code, AMatrixOrAListOfThemIsTakenAsAMatrixAndSaid) {
  Know({Touches(0, "RW"), Touches(0, "W", Root::kIndirect)});
  EXPECT_EQ(Launch({0, kX}).accesses.size(), 1u);
  EXPECT_EQ(resolved(), 1u);
  EXPECT_TRUE(feed.HasNote(1, "arguments that may be a pointer or a list of pointers"));
  EXPECT_FALSE(feed.importer.coverage().complete);
}

TEST_F(Code, AnIndexThatWasLoadedIsNoPointer) {
  kernels::Access indirect = Touches(8, "R", Root::kIndirect);
  indirect.ambiguous = true;
  Know({Touches(0, "R"), indirect});
  Launch({0, kX, 8, kY});
  EXPECT_EQ(resolved(), 1u);
}

TEST_F(Code, WhatTheAnalysisDidNotFollowIsSaid) {
  Know({Touches(0, "R")}, {"a descriptor behind a pointer"});
  Launch({0, kX});
  EXPECT_EQ(resolved(), 0u);
}

TEST_F(Code, NoImageNoAccess) {
  Begin("nobody_knows", false);
  EXPECT_TRUE(Launch({0, kX}).accesses.empty());
  EXPECT_EQ(resolved(), 0u);
}

TEST_F(Code, ManyReasonsAreSummed) {
  Begin("first", false);
  for (uint64_t i = 0; i < 15; ++i) {
    feed.Text(10 + i, "kernel" + std::to_string(i));
    feed.Note(
        0, trace::Image{
               .image = 10 + i, .kind = 1, .path = "/nonexistent/" + std::to_string(i) + ".cubin"});
    feed.Call(0, trace::ImageLoad{10 + i, 0x5000 + i});
    feed.Note(0, trace::Function{.function = 0x9000 + i, .text_id = 10 + i, .module = 0x5000 + i});
    feed.Call(
        0, trace::Launch{
               .function = 0x9000 + i, .stream = kStreamA, .context = kContext, .words = {0, kX}});
  }
  feed.End();
  const std::vector<std::string> notes = feed.importer.coverage().notes;
  EXPECT_EQ(std::count_if(notes.begin(), notes.end(),
                          [](const std::string& note) {
                            return note.find("with unknown accesses: ") != note.npos;
                          }),
            10);
  EXPECT_TRUE(std::count(notes.begin(), notes.end(),
                         "5 launches of 5 more kernels with unknown accesses, for 5 more reasons"))
      << ::testing::PrintToString(notes);
}

TEST_F(Code, WithoutAnyPointerThereIsNothingToKnow) {
  Begin("nobody_knows", false);
  Launch({0, 42});
  EXPECT_EQ(resolved(), 1u);
}

TEST_F(Code, DeclarationsStandInForAnImage) {
  Begin("nobody_knows", false);
  feed.Note(0, trace::NoteKernelAccess{kKernel, 0, kWrite});
  EXPECT_EQ(Launch({0, kX}).accesses.at(0).direction, Evidence::kDeclared);
  EXPECT_EQ(resolved(), 1u);
}

TEST_F(Code, CodeIsBelievedBeforeADeclaration) {
  Know({Touches(0, "R")});
  feed.Note(0, trace::NoteKernelAccess{kKernel, 0, kWrite});
  EXPECT_EQ(Launch({0, kX}).accesses.at(0).mode, kRead);
}

TEST_F(Code, AProgrammaticLaunchWaitsIfItsCodeDoes) {
  Know({Touches(0, "R")});
  EXPECT_EQ(Launch({0, kX}, 2).op.flags & (kPdl | kPdlWait), uint32_t{kPdl});
}

// One that is read early and written late, one that is only early, one that is only late.
TEST_F(Code, WhatComesBeforeTheWaitIsAnOperationOfItsOwn) {
  kernels::Access both = Touches(0, "RW"), early = Touches(8, "R");
  both.before_grid_wait = both.early_reads = early.before_grid_wait = early.early_reads = true;
  Know({both, early, Touches(16, "W")}, {}, true);
  feed.Call(0, trace::Launch{.function = kKernel,
                             .stream = kStreamA,
                             .context = kContext,
                             .kind = 2,
                             .words = {0, kX, 8, kY, 16, kX + 0x800}});
  feed.End();
  const std::vector<Seen> parts = feed.Of(OpKind::kKernel);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].op.flags, uint32_t{kPdl});
  ASSERT_EQ(parts[0].accesses.size(), 2u);
  EXPECT_EQ(parts[0].accesses[0].begin, kX);
  EXPECT_EQ(parts[0].accesses[0].mode, kRead) << "not written before the wait";
  EXPECT_EQ(parts[0].accesses[1].begin, kY);
  EXPECT_EQ(parts[1].op.flags, kPdl | kPdlWait | kAfterGridWait);
  EXPECT_EQ(parts[1].op.name, parts[0].op.name);
  EXPECT_EQ(parts[1].op.stream, parts[0].op.stream);
  EXPECT_GT(parts[1].op.id, parts[0].op.id);
  ASSERT_EQ(parts[1].accesses.size(), 3u);
  EXPECT_EQ(parts[1].accesses[0].mode, kRead | kWrite);
  EXPECT_EQ(parts[1].accesses[2].begin, kX + 0x800);
  EXPECT_EQ(feed.importer.coverage().launches, 1u);
}

// As it was launched in order, its wait has nothing to do; and with nothing live to touch early
// neither.
TEST_F(Code, ThereIsOneOperationWhereNothingIsEarly) {
  kernels::Access early = Touches(0, "R");
  early.before_grid_wait = early.early_reads = true;
  Know({early, Touches(8, "W")}, {}, true);
  trace::Launch launch{.function = kKernel, .stream = kStreamA, .context = kContext};
  launch.words = {0, kX, 8, kY};
  feed.Call(0, launch);
  launch.kind = 2;
  launch.words = {8, kY};
  feed.Call(0, launch);
  feed.End();
  const std::vector<Seen> kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1].op.flags, kPdl | kPdlWait);
}

TEST_F(Code, WhoseCodeLetsNobodyStartEarlySaysSo) {
  Know({Touches(0, "R")});
  EXPECT_EQ(Launch({0, kX}).op.flags, uint32_t{kNoTrigger});
}

TEST_F(Code, AWordThatIsFollowedOutOfKnownMemoryIsCounted) {
  Know({Touches(0, "R")});
  Launch({0, 0x7fff'0000'0000});
  EXPECT_TRUE(feed.HasNote(1, "kernel arguments that are followed pointed to memory"));
}

// A list of tensors goes to kernels as a table, or as pointers in memory.
TEST_F(Code, TheSchemaSaysWhatATableIs) {
  kernels::Access table = Touches(0, "RW", Root::kParamTable);
  table.end = 24;
  Know({table});
  feed.Note(0, trace::OperatorTensors{.tensors = {kX, 0x100, 1, kY, 0x80, 3 | 8}});
  const Seen kernel = Launch({0, kX, 8, kY});
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].mode, kRead);
  EXPECT_EQ(kernel.accesses[0].end, kX + 0x100);
  EXPECT_EQ(kernel.accesses[0].direction, Evidence::kSchema);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kSchema);
  EXPECT_EQ(kernel.accesses[1].mode, kRead | kWrite);
  EXPECT_EQ(kernel.accesses[1].direction, Evidence::kAssumed) << "the operator may leave it alone";
}

TEST_F(Code, TheSchemaSaysWhatCannotBeFollowed) {
  Know({}, {"pointers that it reads from memory"});
  feed.Note(0, trace::OperatorTensors{.tensors = {kX, 0x100, 1, kY, 0x80, 3}, .complete = 1});
  const Seen kernel = Launch({});
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(kernel.accesses[1].begin, kY);
  EXPECT_EQ(kernel.accesses[1].end, kY + 0x80);
  EXPECT_EQ(kernel.accesses[1].mode, kRead | kWrite);
  EXPECT_EQ(kernel.accesses[1].direction, Evidence::kSchema);
  EXPECT_EQ(resolved(), 1u);
  EXPECT_FALSE(feed.HasNote(1, "with unknown accesses"));
  EXPECT_TRUE(feed.HasNote(1, "launches whose accesses are those of their operator's schema"));
}

// Half of the columns of a matrix: another stream may have the other half.
TEST_F(Code, ATensorWithGapsReachesToItsEndPerhaps) {
  Know({}, {"pointers that it reads from memory"});
  feed.Note(0, trace::OperatorTensors{.tensors = {kX, 0x100, 2 | 16, kY, 0x80, 1}, .complete = 1});
  const Seen kernel = Launch({});
  ASSERT_EQ(kernel.accesses.size(), 2u);
  EXPECT_EQ(kernel.accesses[0].direction, Evidence::kSchema);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kAssumed);
  EXPECT_EQ(kernel.accesses[1].extent, Evidence::kSchema);
}

TEST_F(Code, AViewInATableReachesToItsEndPerhaps) {
  kernels::Access table = Touches(0, "RW", Root::kParamTable);
  table.end = 24;
  Know({table});
  feed.Note(0, trace::OperatorTensors{.tensors = {kX, 0x100, 2 | 16}});
  const Seen kernel = Launch({0, kX});
  ASSERT_EQ(kernel.accesses.size(), 1u);
  EXPECT_EQ(kernel.accesses[0].direction, Evidence::kSchema);
  EXPECT_EQ(kernel.accesses[0].extent, Evidence::kAssumed);
}

TEST_F(Code, ASchemaThatLacksTheResultResolvesNothing) {
  Know({}, {"pointers that it reads from memory"});
  feed.Note(0, trace::OperatorTensors{.tensors = {kX, 0x100, 1}});
  EXPECT_TRUE(Launch({}).accesses.empty());
  EXPECT_EQ(resolved(), 0u);
}

TEST_F(Code, AnOperatorThatIsOverSaysNothing) {
  Know({}, {"pointers that it reads from memory"});
  feed.Note(0, trace::OperatorTensors{.tensors = {kX, 0x100, 1}, .complete = 1});
  feed.Note(0, trace::OperatorTensors{});
  EXPECT_TRUE(Launch({}).accesses.empty());
  EXPECT_EQ(resolved(), 0u);
}

}  // namespace
}  // namespace ss
