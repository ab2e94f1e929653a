// `streamsan hang` on what cuda-gdb 13.0 printed of incidents/gdn_like hanging on an H200: whole
// (tests/pipeline/cores) and shortened. A script stands in for cuda-gdb.
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

// The loop's first instruction: it looks next.
TEST(Hang, FindsTheLookThatComesNext) {
  const std::string place = kPlace;
  std::string first = place;
  first.replace(first.find("=> "), 3, "   ");
  first.replace(first.find("   0x7fc45b7a1ce0"), 3, "=> ");
  const auto wait = kernels::ParseWait(first);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->barrier, 0x10f8U);
  // Behind the loop it does not.
  std::string behind = place;
  behind.replace(behind.find("=> "), 3, "   ");
  behind.erase(0, behind.find("   0x7fc45b7a1d10"));
  behind.replace(0, 3, "=> ");
  EXPECT_FALSE(kernels::ParseWait(behind).has_value());
}

class HangReport : public testing::Test {
 protected:
  HangReport() {
    char folder[] = "/tmp/ss_hang_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~HangReport() override { std::filesystem::remove_all(folder_); }

  // cuda-gdb, with these answers to the three rounds of questions.
  Ran Hang(const std::string& warps, const std::string& places, const std::string& words) {
    const std::string fake = folder_ + "/cuda-gdb";
    std::ofstream(fake) << "#!/bin/sh\ncase \"$*\" in\n*'info cuda warps'*) cat <<'E'\n@@0@@\n"
                        << "*      0      -   0    1 Active 0x0010 (2,1,1) (384,1,1) gdn_like() \n"
                        << "@@1@@\n"
                        << warps << "E\n;;\n*'info registers'*) cat <<'E'\n"
                        << places << "E\n;;\n*) cat <<'E'\n"
                        << words << "E\n;;\nesac\n";
    chmod(fake.c_str(), 0755);
    return Child({kTool, "hang", "core.gpu"}, {{"STREAMSAN_CUDA_GDB", fake}}).Wait();
  }

  std::string folder_;
};

// Another block's warp, at another instruction of the same loop.
std::string WithSecondBlock() {
  return std::string(kWarps) +
         "   4        0xffffffff           0x00000000 0x00007fc45b7a1ce0      0  (1,0,0)           "
         "    "
         " (0,0,0) \n";
}
std::string SecondPlace(const std::string& parity) {
  std::string place = kPlace;
  place.replace(place.find("=> "), 3, "   ");
  place.replace(place.find("   0x7fc45b7a1ce0"), 3, "=> ");
  place.replace(place.find("0x80000000"), 10, parity);
  return place;
}
constexpr char kClosedWord[] = "0x10f8:\t0xffff0000001fffc0\n";

TEST_F(HangReport, WarpsThatWaitForTheSameAreOneGroup) {
  const Ran ran = Hang(WithSecondBlock(),
                       "@@0@@\n" + std::string(kPlace) + "@@1@@\n" + SecondPlace("0x80000000"),
                       std::string("@@0@@\n") + kClosedWord + "@@1@@\n" + kClosedWord);
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("5 warps of 2 blocks"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("1 group at a closed mbarrier"), std::string::npos) << ran.out;
}

// Blocks wait with parities of their own.
TEST_F(HangReport, AnOpenBarrierIsNotStuck) {
  const Ran ran = Hang(WithSecondBlock(),
                       "@@0@@\n" + std::string(kPlace) + "@@1@@\n" + SecondPlace("0x0       "),
                       std::string("@@0@@\n") + kClosedWord + "@@1@@\n" + kClosedWord);
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("4 warps of 1 block"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("waits for mbarrier 0x10f8 with parity 0"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("open: the warp was about to go on"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("1 group at a closed mbarrier"), std::string::npos) << ran.out;
}

TEST_F(HangReport, ABarrierThatCannotBeReadIsNotCalledClosed) {
  const Ran ran = Hang(kWarps, "@@0@@\n" + std::string(kPlace),
                       "@@0@@\nCannot access memory at address 0x10f8\n");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("it could not be read, open or closed"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("0 groups at a closed mbarrier"), std::string::npos) << ran.out;
}

TEST_F(HangReport, NamesTheStuckBarrier) {
  const Ran ran =
      Hang(kWarps, "@@0@@\n" + std::string(kPlace), std::string("@@0@@\n") + kClosedWord);
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("4 warps of 1 block at 0x7fc45b7a1d00"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("stuck: wait for mbarrier 0x10f8 with parity 1: 32 of 32 arrivals of its "
                         "phase are missing"),
            std::string::npos)
      << ran.out;
}

// The three answers of cuda-gdb to a core dump: NAME.0.txt, NAME.1.txt, NAME.2.txt.
class RealCores : public HangReport {
 protected:
  Ran HangOn(const std::string& name) {
    const std::string fake = folder_ + "/cuda-gdb",
                      from = SS_SOURCE_DIR "/tests/pipeline/cores/" + name;
    std::ofstream(fake) << "#!/bin/sh\ncase \"$*\" in\n*'info cuda warps'*) cat " << from
                        << ".0.txt;;\n*'info registers'*) cat " << from << ".1.txt;;\n*) cat "
                        << from << ".2.txt;;\nesac\n";
    chmod(fake.c_str(), 0755);
    return Child({kTool, "hang", "core.gpu"}, {{"STREAMSAN_CUDA_GDB", fake}}).Wait();
  }
};

TEST_F(RealCores, AStrayTail) {
  const Ran ran = HangOn("stray_tail");
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("(1,1,1) (384,1,1) (anonymous namespace)::gdn_like()"), std::string::npos);
  EXPECT_NE(ran.out.find("4 warps of 1 block at 0x7fe0237a1d00, as block (0,0,0) thread (0,0,0)\n"
                         "  stuck: wait for mbarrier 0x10f8 with parity 1: 32 of 32 arrivals"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("\n1 group at a closed mbarrier\n"), std::string::npos) << ran.out;
}

TEST_F(RealCores, ALostRelease) {
  const Ran ran = HangOn("lost_release");
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("thread (128,0,0)\n  stuck: wait for mbarrier 0x10f8 with parity 1"),
            std::string::npos)
      << ran.out;
}

// Nobody of six roles gets on; the ninth warp has one thread.
TEST_F(RealCores, AWrongParity) {
  const Ran ran = HangOn("wrong_parity");
  EXPECT_EQ(ran.code, 66) << ran.out << ran.err;
  for (const char* wait : {"wait for mbarrier 0x10e0 with parity 1: 128 of 128",
                           "wait for mbarrier 0x10c0 with parity 0: 32 of 32",
                           "waits for mbarrier 0x10f0 with parity 1: 128 of 128",
                           "waits for mbarrier 0x10b8 with parity 0: 256 of 256",
                           "waits for mbarrier 0x10a8 with parity 1: 128 of 128",
                           "waits for mbarrier 0x1088 with parity 1: 1 of 1"})
    EXPECT_NE(ran.out.find(wait), std::string::npos) << wait << "\n" << ran.out;
  EXPECT_NE(ran.out.find("\n6 groups at a closed mbarrier\n"), std::string::npos) << ran.out;
}

TEST_F(HangReport, SaysThatThereAreNoWarps) {
  const Ran none = Hang("", "", "");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("core.gpu: cuda-gdb shows no warps in it"), std::string::npos)
      << none.err;
}

}  // namespace
}  // namespace ss
