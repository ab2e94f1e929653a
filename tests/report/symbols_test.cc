// Symbolises this test program itself.
#include "src/report/symbols.h"

#include <gtest/gtest.h>
#include <link.h>

namespace ss {
namespace {

__attribute__((noinline)) void* Here() { return __builtin_return_address(0); }
constexpr uint32_t kCallLine = __LINE__ + 1;
__attribute__((noinline)) uint64_t CallSite() { return reinterpret_cast<uint64_t>(Here()); }

// A call without a result: the return address is already the next line's code.
uint64_t return_address;
__attribute__((noinline)) void Note() {
  return_address = reinterpret_cast<uint64_t>(__builtin_return_address(0));
}
constexpr uint32_t kBareCallLine = __LINE__ + 2;
__attribute__((noinline)) void BareCall() {
  Note();
  asm volatile("");
}

// Inlined even at -O0.
constexpr uint32_t kInlinedLine = __LINE__ + 2;
__attribute__((always_inline)) inline void Inlined() {
  Note();
  asm volatile("");
}
constexpr uint32_t kCallerLine = __LINE__ + 2;
__attribute__((noinline)) void Caller() {
  Inlined();
  asm volatile("");
}

ModuleMap ThisProgram() {
  ModuleMap module;
  module.path = "/proc/self/exe";
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        auto* map = static_cast<ModuleMap*>(out);
        map->bias = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          if (!map->begin) map->begin = map->bias + header.p_vaddr;
          map->end = map->bias + header.p_vaddr + header.p_memsz;
        }
        return 1;  // the first one is the program
      },
      &module);
  return module;
}

TEST(Symbols, FunctionFileAndLineOfTheCall) {
  Symboliser symbols;
  symbols.AddModule(ThisProgram());
  symbols.AddStack(7, {CallSite()});
  const std::vector<Frame>& frames = symbols.Frames(7);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_NE(frames[0].fn.find("CallSite"), std::string::npos) << frames[0].fn;
  EXPECT_NE(frames[0].file.find("symbols_test.cc"), std::string::npos);
  EXPECT_EQ(frames[0].line, kCallLine);
  EXPECT_EQ(frames[0].offset, CallSite() - ThisProgram().bias);
  EXPECT_EQ(ShortText(frames[0]), "symbols_test.cc:" + std::to_string(kCallLine));
}

TEST(Symbols, ALineIsTheCallsNotTheReturns) {
  BareCall();
  Symboliser symbols;
  symbols.AddModule(ThisProgram());
  symbols.AddStack(1, {return_address});
  EXPECT_EQ(symbols.Frames(1)[0].line, kBareCallLine);
}

TEST(Symbols, InlinedFunctionsAreFramesOfTheirOwn) {
  Caller();
  Symboliser symbols;
  symbols.AddModule(ThisProgram());
  symbols.AddStack(1, {return_address});
  const std::vector<Frame>& frames = symbols.Frames(1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_NE(frames[0].fn.find("Inlined"), std::string::npos) << frames[0].fn;
  EXPECT_EQ(frames[0].line, kInlinedLine);
  EXPECT_NE(frames[1].fn.find("Caller"), std::string::npos) << frames[1].fn;
  EXPECT_EQ(frames[1].line, kCallerLine);
  EXPECT_NE(frames[1].file.find("symbols_test.cc"), std::string::npos);
}

TEST(Symbols, ASharedWrapperIsNotTheSite) {
  Frame launch{"Launch", "gpu.cc", 9, "/bin/app", 1};
  std::vector<Frame> a = {launch, {"Forward", "model.cc", 20, "/bin/app", 2}};
  std::vector<Frame> b = {launch, {"Backward", "model.cc", 40, "/bin/app", 3}};
  EXPECT_EQ(SiteOf(a)->line, 9u);
  EXPECT_EQ(SiteOf(a, {&b})->line, 20u);
  EXPECT_EQ(SiteOf(a, {&a})->line, 9u);
}

TEST(Symbols, OurOwnLibrariesAreNoSite) {
  const Frame grow{"", "", 0, "/usr/lib/libtorch_cpu.so", 16};
  const std::string cache = "/home/someone/.cache/streamsan/";
  for (const char* own : {"torch-2.11.0+cu130-0123456789abcdef.so", "libstreamsan_capture.so"}) {
    const std::vector<Frame> frames = {{"", "", 0, cache + own, 8}, grow};
    EXPECT_EQ(SiteOf(frames)->offset, grow.offset) << own;
  }
  const std::vector<Frame> program = {{"", "", 0, "/opt/torch-2.11.0/lib/app.so", 8}, grow};
  EXPECT_EQ(SiteOf(program)->offset, 8u);
}

// As when NCCL is linked into the program: everything up to its public function is its own.
TEST(Symbols, NcclsOwnFramesAreNoSite) {
  const Frame train{"Train", "train.cc", 7, "/bin/app", 4};
  std::vector<Frame> frames = {{"ncclProfilerStartCollApiEvent", "profiler.cc", 294, "/bin/app", 1},
                               {"taskAppend", "enqueue.cc", 2611, "/bin/app", 2},
                               {"pncclAllReduce", "collectives.cc", 117, "/bin/app", 3},
                               train};
  EXPECT_EQ(SiteOf(frames)->line, 7u);
  frames.pop_back();
  EXPECT_EQ(SiteOf(frames)->line, 294u) << "nothing else is known";
  EXPECT_EQ(SiteOf({{"ncclear", "own.cc", 3, "/bin/app", 1}, train})->line, 3u);
}

TEST(Symbols, AnotherBuildGivesModuleAndOffsetOnly) {
  ModuleMap module = ThisProgram();
  module.build_id = "not the id of this file";
  Symboliser symbols;
  symbols.AddModule(module);
  symbols.AddStack(1, {CallSite()});
  EXPECT_TRUE(symbols.Frames(1)[0].fn.empty());
  EXPECT_TRUE(symbols.Frames(1)[0].file.empty());
  EXPECT_EQ(symbols.Frames(1)[0].module, "/proc/self/exe");
}

TEST(Symbols, MissingImageAndUnknownAddress) {
  Symboliser symbols;
  symbols.AddModule({0x1000, 0x1000, 0x9000, "/nowhere/app", ""});
  symbols.AddStack(1, {0x4010, 0xdead0000});
  EXPECT_EQ(ShortText(symbols.Frames(1)[0]), "app+0x3010");
  EXPECT_EQ(ShortText(symbols.Frames(1)[1]), "0xdead0000");
  EXPECT_TRUE(symbols.Frames(2).empty());
}

TEST(Symbols, ProcessesHaveTheirOwnAddresses) {
  Symboliser symbols;
  symbols.AddModule({0, 0x1000, 0x2000, "/a", ""});
  symbols.AddStack(1, {0x1800});
  symbols.AddProcess();
  symbols.AddModule({0, 0x1000, 0x2000, "/b", ""});
  symbols.AddStack(2, {0x1800});
  EXPECT_EQ(symbols.Frames(1)[0].module, "/a");
  EXPECT_EQ(symbols.Frames(2)[0].module, "/b");
}

TEST(Symbols, SiteIsOutsideTheDriverAndTheTool) {
  std::vector<Frame> frames = {{"cuLaunchKernel", "x.cc", 1, "/lib/libstreamsan_capture.so", 1},
                               {"", "", 0, "/lib/libcudart.so.13", 2},
                               {"train", "train.cc", 3, "/bin/app", 3}};
  ASSERT_NE(SiteOf(frames), nullptr);
  EXPECT_EQ(SiteOf(frames)->fn, "train");
  EXPECT_EQ(SiteOf({}), nullptr);
}

}  // namespace
}  // namespace ss
