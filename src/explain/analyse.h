// The whole analysis of a program: check, explain, propose fixes, verify them by checking again.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "src/base/result.h"
#include "src/detect/checker.h"
#include "src/explain/ablate.h"
#include "src/explain/what_if.h"
#include "src/program/finding.h"
#include "src/program/op.h"

namespace ss {

// Rows of docs/semantics.md beyond the basic ones (1-6, 9, 10, 12, 16-20, 22) that the engine
// models in litmus files.
inline const std::set<int>& ModelledLaterRules() {
  static const std::set<int> kRules = {7, 8, 11, 13, 14, 23, 24};
  return kRules;
}

struct AnalyseOptions {
  // Rule 3. Unset in a Program that says its own mode; --strict sets it for those that do not.
  bool strict = false;
  // Verify fixes. Off: candidates are not printed as fixes at all (an unverified fix is none).
  bool verify = true;
  // In default mode, also check strictly: what is ordered only by a hand-over between host threads
  // is then reported as `possible` (handover_only).
  bool handovers = false;
  // Compare accesses of unknown extent where they begin only (CheckOptions::beginnings_only); the
  // notes say how many there were.
  bool beginnings_only = false;
  // Also return absorbed findings (litmus expectations may name them).
  bool keep_absorbed = false;
  // A verification replays the program: no more operations than this are replayed for one report.
  // What remains unverified is counted in the coverage notes.
  uint64_t max_replayed = 60'000'000;
  // Also make Report.pictures, of at most this many operations. 0 = none.
  size_t picture = 0;
};

Report AnalyseProgram(const Program& program, const AnalyseOptions& options);

// The same for operations that come one by one. `names` supplies strings and may grow meanwhile.
// The operations are kept (up to `max_kept`) for explanations and verification; beyond that,
// findings are still found, and the notes say that they are not explained.
class Analysis {
 public:
  Analysis(const Program& names, const AnalyseOptions& options, size_t max_kept = 20'000'000);
  ~Analysis();
  void Feed(const Op& op, const Access* accesses);
  // What other analyses kept, put together: their graphs have been launched out already.
  void FeedKept(const Op& op, const Access* accesses);
  // What is kept so far; false where that is not all that was fed.
  size_t kept() const;
  bool whole() const;
  const std::vector<Op>& kept_ops() const;
  const std::vector<Access>& kept_accesses() const;
  // Findings so far that are not absorbed: cheap, for progress lines.
  size_t hazards() const;
  // Where what was fed so far placed its collectives.
  const std::vector<PlacedCollective>& collectives() const;
  OpId last_op() const;  // that was fed
  Site SiteOf(const Op& op) const;
  // The report as it would be if the program ended here. Judges everything again, so ask only when
  // hazards() has changed. Empty, with a note, beyond `max_kept` operations.
  Report SoFar() const;
  Report Finish();
  // Which waits of what was fed are needed. Error: more operations than are kept.
  Result<Ablation> Ablate(const AblateOptions& options) const;
  // What was fed, with edges put in or waits taken out, judged again. Error: as above, or a request
  // that fits no operation.
  Result<WhatIf> Try(const std::vector<EdgeRequest>& edges, Confidence least) const;
  // The waits of what was kept, none of them tried.
  std::vector<Wait> Waits() const;
  // Of every operation that was kept, in order: what it is and where it was called.
  struct Place {
    OpKind kind{};
    StackId stack = 0;
  };
  std::vector<Place> Places() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ss
