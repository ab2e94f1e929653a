// A job of several ranks as a folder of traces, and what `streamsan check` says of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.h"
#include "tests/ranks/rank_trace.h"

namespace ss {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

inline constexpr uint64_t kA = 0xA0, kB = 0xB0;              // streams
inline constexpr uint64_t kWorld = 0xC100, kOther = 0xC200;  // communicators

using Body = std::function<void(RankTrace&, int64_t rank)>;

class Job {
 public:
  Job() {
    char path[] = "/tmp/ss_ranks_XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~Job() { fs::remove_all(folder_); }

  // Every rank is a member of kWorld and kOther, and has a handle of its own for them.
  Job& Ranks(int64_t count, const Body& body) {
    for (int64_t rank = 0; rank < count; ++rank) {
      RankTrace trace(Path(rank), rank);
      trace.Comm(kWorld, 0x1111, rank, static_cast<uint64_t>(count));
      trace.Comm(kOther, 0x2222, rank, static_cast<uint64_t>(count));
      body(trace, rank);
    }
    return *this;
  }
  std::string Path(int64_t rank) const { return folder_ + "/" + std::to_string(rank) + ".0.sst"; }
  const std::string& folder() const { return folder_; }

  Json Check(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"check", "--format", "json"});
    options.push_back(folder_);
    Ran ran = Tool(options);
    Json report = Json::parse(ran.err);
    EXPECT_EQ(ran.code, report["hazards"].empty() ? 0 : 66);
    return report;
  }
  Json One() const {
    Json report = Check();
    EXPECT_EQ(report["hazards"].size(), 1u) << report.dump(1);
    return report["hazards"].empty() ? Json() : report["hazards"][0];
  }
  void ExpectSilent() const {
    Json report = Check({"--min-confidence", "possible"});
    EXPECT_EQ(report["hazards"].size(), 0u) << report["hazards"].dump(1);
    EXPECT_EQ(report["coverage"]["notes"].size(), 0u) << report["coverage"].dump(1);
  }

 private:
  std::string folder_;
};

inline void ReduceThenBroadcast(RankTrace& trace, int64_t) {
  trace.Call(kAllReduce, kWorld, kA);
  trace.Call(kBroadcast, kWorld, kA, 0);
  trace.Exit();
}

}  // namespace ss
