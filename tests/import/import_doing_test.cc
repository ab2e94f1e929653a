// What frameworks say of their threads: in names, in stacks, in the coverage.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

// "void at::native::add_kernel<4>(int)", launched twice.
void Launches(Feeder& feed, const trace::Doing& first, const trace::Doing& second) {
  feed.Text(1, "_ZN2at6native10add_kernelILi4EEEvi")
      .Text(2, "aten::add")
      .Text(3, "AddBackward0")
      .Text(4, "forward\nmodel.py\n17")
      .Text(5, "layers.0")
      .Text(6, "layers.1")
      .Note(1, trace::Function{.function = kKernel, .text_id = 1});
  feed.Note(1, first).Note(1, trace::Launch{.function = kKernel, .stream = 1, .stack = 9});
  feed.Note(1, second).Note(1, trace::Launch{.function = kKernel, .stream = 1, .stack = 9}).End();
}

TEST(Doing, OperatorNamesTheKernel) {
  Feeder feed;
  Launches(feed, {.operator_text = 2}, {.operator_text = 3, .forward_text = 2});
  const auto kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(feed.NameOf(kernels[0].op), "aten::add: add_kernel");
  EXPECT_EQ(feed.NameOf(kernels[1].op), "AddBackward0 (backward of aten::add): add_kernel");
}

// Most of PyTorch's kernels are in one: "(anonymous namespace)" is not where a name ends.
TEST(Doing, AKernelOfAnAnonymousNamespaceHasItsName) {
  Feeder feed;
  feed.Text(1, "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelILi4EEEvi")
      .Text(2, "aten::_foreach_copy_");
  feed.Note(1, trace::Function{.function = kKernel, .text_id = 1});
  feed.Note(1, trace::Doing{.operator_text = 2})
      .Note(1, trace::Launch{.function = kKernel, .stream = 1})
      .End();
  const auto kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(feed.NameOf(kernels[0].op), "aten::_foreach_copy_: multi_tensor_apply_kernel");
}

TEST(Doing, NothingSaidChangesNothing) {
  Feeder feed;
  Launches(feed, {}, {});
  const auto kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(feed.NameOf(kernels[0].op), "_ZN2at6native10add_kernelILi4EEEvi");
  EXPECT_EQ(kernels[0].op.stack, 9u);
  EXPECT_TRUE(feed.importer.described_stacks().empty());
}

TEST(Doing, TheProgramsLineIsInFrontOfTheRecordedStack) {
  Feeder feed;
  Launches(feed, {.operator_text = 2, .module_text = 5, .site_text = 4},
           {.operator_text = 2, .module_text = 6, .site_text = 4});
  const auto kernels = feed.Of(OpKind::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].op.stack, kernels[1].op.stack);  // one line in many layers is one place
  std::vector<DescribedStack> stacks = feed.importer.described_stacks();
  std::erase_if(stacks, [](const DescribedStack& stack) { return stack.recorded != 9; });
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].id, kernels[0].op.stack);
  EXPECT_EQ(stacks[0].function, "forward");
  EXPECT_EQ(stacks[0].file, "model.py");
  EXPECT_EQ(stacks[0].line, 17u);
  EXPECT_EQ(stacks[0].module, "layers.0");
}

TEST(Doing, IsTheThreadsOwn) {
  Feeder feed;
  feed.Text(2, "aten::copy_").Note(1, trace::Doing{.operator_text = 2});
  feed.Note(2, trace::Memset{.destination = 0x1000, .bytes = 4, .stream = 1});
  feed.Note(1, trace::Memset{.destination = 0x2000, .bytes = 4, .stream = 1}).End();
  const auto sets = feed.Of(OpKind::kMemset);
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(feed.NameOf(sets[0].op), "");
  EXPECT_EQ(feed.NameOf(sets[1].op), "aten::copy_");
}

TEST(PlugIn, GapsMakeTheCoverageIncomplete) {
  Feeder feed;
  feed.Text(1, "allocator unseen").Note(1, trace::PlugIn{1, 1}).Note(1, trace::PlugIn{1, 1}).End();
  const Coverage coverage = feed.importer.coverage();
  EXPECT_FALSE(coverage.complete);
  EXPECT_EQ(coverage.notes, std::vector<std::string>{"allocator unseen"});
}

TEST(PlugIn, PyTorchWithoutItIsAGap) {
  Feeder without, with, launcher;
  const trace::Module image{.path = "/x/torch/lib/libc10_cuda.so"};
  const trace::Alloc memory{.address = 0x1000, .bytes = 64, .kind = 1, .context = kContext};
  launcher.Context(kContext, 0).Note(1, image).End();
  without.Context(kContext, 0).Note(1, image).Call(1, memory).End();
  with.Context(kContext, 0).Text(1, "attached").Note(1, image).Note(1, trace::PlugIn{0, 1});
  with.Call(1, memory).End();
  EXPECT_TRUE(launcher.importer.coverage().complete);
  EXPECT_FALSE(without.importer.coverage().complete);
  EXPECT_TRUE(without.HasNote("PyTorch runs without StreamSan's plug-in"));
  EXPECT_TRUE(with.importer.coverage().complete);
  EXPECT_TRUE(with.importer.coverage().notes.empty());
  EXPECT_TRUE(launcher.importer.coverage().complete);  // it has no blocks
}

}  // namespace
}  // namespace ss
