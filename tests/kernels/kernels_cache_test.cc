// Summaries on disk, and the process that makes the disassembly.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/kernels/cache.h"
#include "src/kernels/json.h"
#include "src/kernels/modules.h"
#include "src/kernels/process.h"
#include "src/kernels/tools.h"
#include "tests/kernels/fixture.h"

namespace ss::kernels {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "kernels-cache-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(directory_); }

  // The one file in the cache.
  std::string OnlyFile() const {
    std::string found;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) found = entry.path();
    }
    return found;
  }

  std::string directory_;
};

KernelSummary Example() {
  KernelSummary summary;
  summary.name = "k";
  summary.arch = 90;
  summary.hash = "0123456789abcdef0123456789abcdef";
  summary.params = {{0, 8}, {8, 512}};
  Access table{Root::kParamTable, 8, 264, 16};
  table.writes = table.updates = table.polled = table.before_grid_wait = true;
  table.early_writes = table.scattered = true;
  table.first = -8, table.last = 400;
  Access global{Root::kGlobal, 0, 0, 0};
  global.reads = global.ambiguous = true;
  global.symbol = "counter";
  summary.accesses = {table, global};
  summary.unresolved = {"because"};
  summary.differences = {{-1}, {16}};
  summary.waits_for_grid = true;
  summary.access_sites = 5;
  return summary;
}

TEST_F(CacheTest, EverythingComesBack) {
  Cache cache(directory_);
  EXPECT_FALSE(cache.Get(Example().hash, "k").has_value());
  cache.Put(Example());
  auto found = cache.Get(Example().hash, "k");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Pack(*found), Pack(Example()));
  EXPECT_EQ(cache.stats().hits, 1u);
  EXPECT_EQ(cache.stats().misses, 1u);
}

TEST_F(CacheTest, DamageCountsAsAMissAndIsMended) {
  Cache cache(directory_);
  cache.Put(Example());
  for (const char* text : {"", "{", "{\"version\":1}", "[1,2"}) {
    std::ofstream(OnlyFile()) << text;
    EXPECT_FALSE(cache.Get(Example().hash, "k").has_value()) << text;
  }
  EXPECT_EQ(cache.stats().damaged, 4u);
  cache.Put(Example());
  EXPECT_TRUE(cache.Get(Example().hash, "k").has_value());
}

TEST_F(CacheTest, AnotherKernelsEntryIsNotTaken) {
  Cache cache(directory_);
  cache.Put(Example());
  KernelSummary other = Example();
  other.hash[31] = '0';
  std::ofstream(OnlyFile()) << Pack(other);
  EXPECT_FALSE(cache.Get(Example().hash, "k").has_value());
}

// Readers and writers at once: whoever finds a file finds all of it.
TEST_F(CacheTest, ManyProcesses) {
  constexpr int kProcesses = 6, kRounds = 300;
  for (int p = 0; p < kProcesses; ++p) {
    if (fork() != 0) continue;
    Cache cache(directory_);
    for (int i = 0; i < kRounds; ++i) {
      cache.Put(Example());
      cache.Get(Example().hash, "k");
    }
    const CacheStats& stats = cache.stats();
    _exit(stats.damaged || stats.misses || stats.failed_writes ? 1 : 0);
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = -1;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(OnlyFile().substr(OnlyFile().size() - 5), ".json");
}

TEST_F(CacheTest, NoDirectoryIsNoCache) {
  Cache cache("");
  cache.Put(Example());
  EXPECT_FALSE(cache.Get(Example().hash, "k").has_value());
  EXPECT_EQ(cache.stats().failed_writes, 0u);
}

// A stand-in for nvdisasm: prints the committed disassembly and counts its runs.
TEST_F(CacheTest, OneProcessForAllAndNoneTheSecondTime) {
  auto fixture = LoadFixture("more", 90);
  std::ofstream(directory_ + "/text") << *fixture->text;
  std::string program = directory_ + "/nvdisasm";
  std::ofstream(program) << "#!/bin/sh\necho x >>" << directory_ << "/runs\ncat " << directory_
                         << "/text\n";
  chmod(program.c_str(), 0755);
  Result<Disassembler> disassembler{Disassembler(program)};
  Cache first(directory_ + "/cache"), second(directory_ + "/cache");
  std::vector<ModuleImage> images{{"m", fixture->image}};
  Analysis anew = AnalyseModules(images, disassembler, first);
  Analysis kept = AnalyseModules(images, disassembler, second);
  EXPECT_EQ(second.stats().hits, fixture->cubin.kernels.size());
  EXPECT_EQ(KernelsJson(anew.kernels, {}), KernelsJson(kept.kernels, {}));
  EXPECT_EQ(ReadTestFile(directory_ + "/runs"), "x\n");
}

TEST(Process, TimeLimitAndFailureAreErrors) {
  auto slow = CaptureOutput({"/bin/sh", "-c", "echo begun; exec sleep 60"}, 1);
  ASSERT_FALSE(slow.has_value());
  EXPECT_NE(slow.error().message.find("did not finish within 1 s"), std::string::npos);
  auto failed = CaptureOutput({"/bin/sh", "-c", "echo no good >&2; exit 3"}, 10);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "failed (exit 3): no good");
  EXPECT_FALSE(CaptureOutput({"/nonexistent/nvdisasm"}, 10).has_value());
  EXPECT_EQ(CaptureOutput({"/bin/sh", "-c", "echo fine"}, 10).value_or(""), "fine\n");
}

TEST(Process, OneThatNeverStopsPrintingIsStopped) {
  Result<std::string> got = CaptureOutput({"yes"}, 600, nullptr, 1 << 20);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().message, "printed more than 1048576 bytes");
}

// Nothing can be left of it where this process is killed.
TEST_F(CacheTest, WhatAnotherProgramReadsHasNoNameInADirectory) {
  setenv("TMPDIR", directory_.c_str(), 1);
  TemporaryFile file, named;
  const bool written = file.Write("machine code").has_value();
  const bool empty = fs::is_empty(directory_);
  const bool created = named.Create().has_value();
  unsetenv("TMPDIR");
  EXPECT_TRUE(written && empty && created);
  EXPECT_EQ(CaptureOutput({"cat", file.path()}, 60).value_or(""), "machine code");
  EXPECT_EQ(OnlyFile(), named.path()) << "what another program writes has one";
}

TEST(Process, ANamedDisassemblerThatIsNotThereIsSaid) {
  setenv("STREAMSAN_NVDISASM", "/nonexistent/nvdisasm", 1);
  Result<Disassembler> found = Disassembler::Find();
  unsetenv("STREAMSAN_NVDISASM");
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().Text().find("STREAMSAN_NVDISASM"), std::string::npos);
  EXPECT_NE(found.error().remedy.find("pip install"), std::string::npos);
}

}  // namespace
}  // namespace ss::kernels
