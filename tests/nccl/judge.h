// What the tests of NCCL share: a run with the stand-in, what was recorded, and the verdict on it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "src/explain/analyse.h"
#include "src/import/importer.h"
#include "tests/capture/watch.h"

namespace ss::test {

inline RunOptions NcclOptions() {
  RunOptions options;
  const std::string library = std::string(SS_BINARY_DIR) + "/lib";
  options.environment = {"LD_LIBRARY_PATH=" + library + "/nccl_stand_in:" + library +
                         "/vgpu:" + library};
  return options;
}

inline std::vector<uint64_t> Kinds(const Watched& watched) {
  std::vector<uint64_t> kinds;
  for (const trace::NcclCall& call : watched.All<trace::NcclCall>()) kinds.push_back(call.kind);
  return kinds;
}

struct Judged {
  Report report;
  Coverage coverage;
};

class Judge : private ImportSink {
 public:
  explicit Judge(const Watched& watched) : importer_(names_), engine_(Recorded(), {}) {
    std::vector<trace::Record> records = watched.records;
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.seq_before < b.seq_before; });
    for (const trace::Record& record : records) importer_.Feed(record, *this);
    importer_.Finish(*this);
  }
  Judged Verdict() { return {engine_.Finish(), importer_.coverage()}; }

 private:
  const ss::Program& Recorded() {
    names_.recorded = true;
    return names_;
  }
  void OnOp(const Op& op, std::span<const Access> accesses) override {
    engine_.Feed(op, accesses.data());
  }

  ss::Program names_;
  Importer importer_;
  Analysis engine_;
};

}  // namespace ss::test
