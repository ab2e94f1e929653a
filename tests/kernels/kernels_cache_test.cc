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

// Where an entry should be, anything can be found.
TEST_F(CacheTest, WhatIsNoFileIsADamagedEntry) {
  Cache cache(directory_);
  cache.Put(Example());
  const std::string path = OnlyFile();
  for (bool folder : {true, false}) {
    fs::remove(path);
    ASSERT_EQ(folder ? mkdir(path.c_str(), 0755) : mkfifo(path.c_str(), 0644), 0);
    EXPECT_FALSE(cache.Get(Example().hash, "k").has_value());
  }
  EXPECT_EQ(cache.stats().damaged, 2u);
}

// A stand-in for nvdisasm: prints the committed disassembly and counts its runs.
class Disassembled : public CacheTest {
 protected:
  Disassembler StandIn(const std::string& filter) {
    std::ofstream(directory_ + "/elf") << *fixture_->text;
    std::ofstream(directory_ + "/raw") << Unpack(ReadTestFile(FixturePath("basic_sm90.raw.zst")));
    const std::string program = directory_ + "/nvdisasm";
    std::ofstream(program) << "#!/bin/sh\ncd " << directory_
                           << "\necho x >>runs\ncase $1 in -c) cat elf ;; *) cat raw ;; esac"
                           << filter << "\n";
    chmod(program.c_str(), 0755);
    return Disassembler(program);
  }

  Analysis Analyse(const Result<Disassembler>& disassembler, Cache& cache) {
    return AnalyseModules({{"m", fixture_->image}}, disassembler, cache);
  }

  std::unique_ptr<Fixture> fixture_ = LoadFixture("basic", 90);
};

TEST_F(Disassembled, NotAgainTheSecondTime) {
  Result<Disassembler> disassembler{StandIn("")};
  Cache first(directory_ + "/cache"), second(directory_ + "/cache");
  Analysis anew = Analyse(disassembler, first);
  const std::string runs = ReadTestFile(directory_ + "/runs");
  Analysis kept = Analyse(disassembler, second);
  EXPECT_EQ(second.stats().hits, fixture_->cubin.kernels.size());
  EXPECT_EQ(KernelsJson(anew.kernels, {}), KernelsJson(kept.kernels, {}));
  EXPECT_EQ(ReadTestFile(directory_ + "/runs"), runs);
  EXPECT_LE(runs.size(), 4u);  // code with relocations goes by itself
}

// A full disk or a killed tool may cut its output: no kernel is resolved by a part of its code, and
// nothing of it is kept for the next time.
TEST_F(Disassembled, WhatEndsEarlyIsUnresolvedAndNotKept) {
  Cache whole("");
  const Analysis right = Analyse(StandIn(""), whole);
  const size_t all = fixture_->text->size();
  for (size_t cut = all / 40; cut < all; cut += all / 23) {
    Cache cache(directory_ + "/cut");
    const Analysis part = Analyse(StandIn(" | head -c " + std::to_string(cut)), cache);
    ASSERT_EQ(part.kernels.size(), right.kernels.size());
    for (size_t i = 0; i < part.kernels.size(); ++i) {
      if (!part.kernels[i].resolved()) continue;
      EXPECT_EQ(part.kernels[i].accesses.size(), right.kernels[i].accesses.size())
          << cut << " bytes: " << part.kernels[i].name;
    }
  }
  Cache cache(directory_ + "/cut");
  const Analysis after = Analyse(StandIn(""), cache);
  EXPECT_EQ(KernelsJson(after.kernels, {}), KernelsJson(right.kernels, {}));
}

TEST(Process, OneThatClosesItsOutputAndLivesOnIsStopped) {
  auto got = CaptureOutput({"/bin/sh", "-c", "exec >&- 2>&-; sleep 60"}, 1);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().message, "did not finish within 1 s");
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
