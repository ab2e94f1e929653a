// `streamsan hang` on what cuda-gdb 13.0 printed of incidents/gdn_like hanging on an H200 (three
// chunks, stray tail, late), shortened; a script stands in for cuda-gdb.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "src/kernels/core.h"
#include "tests/cli/process.h"

namespace ss {
namespace {

constexpr char kTool[] = SS_BINARY_DIR "/bin/streamsan";

constexpr char kWarps[] =
    "  Wp Active Lanes Mask Divergent Lanes Mask          Active PC Kernel BlockIdx First Active "
    "ThreadIdx \n"
    "Device 0 SM 124\n"
    "*  0        0xffffffff           0x00000000 0x00007fc45b7a1d00      0  (0,0,0)                "
    "(0,0,0) \n"
    "   1        0xffffffff           0x00000000 0x00007fc45b7a1d00      0  (0,0,0)               "
    "(32,0,0) \n"
    "   2        0xffffffff           0x00000000 0x00007fc45b7a1d00      0  (0,0,0)               "
    "(64,0,0) \n"
    "   3        0xffffffff           0x00000000 0x00007fc45b7a1d00      0  (0,0,0)               "
    "(96,0,0) \n";

constexpr char kPlace[] =
    "   0x7fc45b7a1ce0 <gdn_like+7392>:\tYIELD\n"
    "   0x7fc45b7a1cf0 <gdn_like+7408>:\tSYNCS.PHASECHK.TRANS64.TRYWAIT P0[UR4+0xcf8],R0\n"
    "=> 0x7fc45b7a1d00 <gdn_like+7424>:\t@!P0 BRA 0x7fc45b7a1ce0\n"
    "   0x7fc45b7a1d10 <gdn_like+7440>:\tEXIT\n"
    "   0x7fc45b7a1d30 <gdn_like+7472>:\tSYNCS.PHASECHK.TRANS64.TRYWAIT P2[R9+URZ+0xc90],R2\n"
    "R0             0x80000000          2147483648\n"
    "R9             0x400               1024\n"
    "UR4            0x400               1024\n"
    "UR40           0x7                 7\n";

TEST(Hang, ReadsWhatCudaGdbPrints) {
  const auto warps = kernels::ParseWarps(kWarps);
  ASSERT_EQ(warps.size(), 4U);
  EXPECT_EQ(warps[1].pc, 0x7fc45b7a1d00U);
  EXPECT_EQ(warps[1].thread, "(32,0,0)");
  const auto wait = kernels::ParseWait(kPlace);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->function, "gdn_like+7408");
  EXPECT_EQ(wait->barrier, 0x10f8U);
  EXPECT_EQ(wait->parity, 1U);
  EXPECT_EQ(kernels::ParseWord("0x10f8:\t0xffff0000001fffc0\n"), 0xffff0000001fffc0U);
  EXPECT_FALSE(kernels::ParseWord("Cannot access memory\n").has_value());
  EXPECT_FALSE(kernels::ParseWait("=> 0x10 <k+16>:\tEXIT\nR0 0x0 0\n").has_value());
}

TEST(Hang, NamesTheStuckBarrier) {
  char folder[] = "/tmp/ss_hang_XXXXXX";
  const std::string fake = std::string(mkdtemp(folder)) + "/cuda-gdb";
  std::ofstream(fake)
      << "#!/bin/sh\ncase \"$*\" in\n*'info cuda warps'*) cat <<'E'\n@@0@@\n"
         "*      0      -   0    1 Active 0x0010 (1,1,1) (384,1,1) gdn_like() \n@@1@@\n"
      << kWarps << "E\n;;\n*'info registers'*) cat <<'E'\n@@0@@\n"
      << kPlace << "E\n;;\n*) printf '@@0@@\\n0x10f8:\\t0xffff0000001fffc0\\n';;\nesac\n";
  chmod(fake.c_str(), 0755);
  const Ran ran = Child({kTool, "hang", "core.gpu"}, {{"STREAMSAN_CUDA_GDB", fake}}).Wait();
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("4 warps of 1 block at 0x7fc45b7a1d00"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("stuck: wait for mbarrier 0x10f8 with parity 1: 32 of 32 arrivals of its "
                         "phase are missing"),
            std::string::npos)
      << ran.out;
  std::ofstream(fake) << "#!/bin/sh\necho nothing\n";
  const Ran none = Child({kTool, "hang", "core.gpu"}, {{"STREAMSAN_CUDA_GDB", fake}}).Wait();
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("core.gpu: cuda-gdb shows no warps in it"), std::string::npos)
      << none.err;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ss
