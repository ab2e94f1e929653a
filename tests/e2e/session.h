// One `streamsan run` or `record` of `steady` on the virtual GPU, in a directory of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/trace/reader.h"
#include "tests/cli/process.h"
#include "tests/e2e/steady.h"

namespace ss::e2e {

constexpr int kSteadyCode = 7;  // steady's own exit code

class Session {
 public:
  Session() {
    char path[] = "/tmp/ss_e2e_XXXXXX";
    folder_ = mkdtemp(path);
    int file = open((folder_ + "/progress").c_str(), O_CREAT | O_RDWR, 0600);
    EXPECT_EQ(ftruncate(file, sizeof(Progress)), 0);
    void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    progress_ = new (memory) Progress{};
  }
  ~Session() {
    munmap(progress_, sizeof(Progress));
    std::filesystem::remove_all(folder_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }
  std::string trace() const { return folder_ + "/run.sst"; }
  const Progress& progress() const { return *progress_; }

  // `streamsan OPTIONS... -- steady PROGRESS CALLS HOW`
  std::vector<std::string> Command(std::vector<std::string> options, uint64_t calls,
                                   const std::string& how) const {
    options.insert(options.begin(), SS_BINARY_DIR "/bin/streamsan");
    for (const std::string& word : {std::string("--"), std::string(SS_BINARY_DIR "/bin/steady"),
                                    folder_ + "/progress", std::to_string(calls), how}) {
      options.push_back(word);
    }
    return options;
  }
  static Environment OnVirtualGpu() { return {{"LD_LIBRARY_PATH", SS_BINARY_DIR "/lib/vgpu"}}; }

  // Waits for the program's n-th call; false if it does not come for a minute.
  bool WaitForCall(uint64_t n) const {
    for (int i = 0; i < 60'000 && progress_->calls.load() < n; ++i) usleep(1000);
    return progress_->calls.load() >= n;
  }
  // The tool makes the file when it first hears of the program.
  bool WaitForTrace() const {
    for (int i = 0; i < 60'000 && !std::filesystem::exists(trace()); ++i) usleep(1000);
    return std::filesystem::exists(trace());
  }
  bool WaitForEnd() const {
    for (int i = 0; i < 60'000 && progress_->ended.load() == 0; ++i) usleep(1000);
    return progress_->ended.load() != 0;
  }

 private:
  std::string folder_;
  Progress* progress_ = nullptr;
};

// The numbers of the memsets in a trace, in order; and what the reader has to say about the file.
struct Kept {
  std::vector<uint64_t> calls;
  trace::ReadStats stats;
};

inline Kept ReadTrace(const std::string& path) {
  Kept kept;
  auto reader = trace::TraceReader::Open(path);
  EXPECT_TRUE(reader.has_value()) << path;
  if (!reader) return kept;
  for (;;) {
    auto record = reader->Next();
    if (!record || !*record) break;
    if (auto* set = std::get_if<trace::Memset>(&(*record)->body)) kept.calls.push_back(set->bytes);
  }
  kept.stats = reader->stats();
  return kept;
}

// 1, 2, 3 ... without a gap: nothing is missing before the last.
inline void ExpectUnbroken(const std::vector<uint64_t>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i], i + 1);
}

}  // namespace ss::e2e
