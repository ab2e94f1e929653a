// Fixes are offered only if they were put into the program and the whole was judged again.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "src/explain/critical_path.h"
#include "src/explain/fixes.h"
#include "src/explain/replay.h"
#include "src/program/finding.h"

namespace ss {

class Verifier {
 public:
  // `budget`: operations replayed at most, one fix at least.
  Verifier(const Tape& tape, const CheckOptions& check, const CheckResult& baseline,
           uint64_t budget);

  // Adds the fixes that passed, in the order in which they are offered. Returns the edit of the
  // first one; no event of it is used by that of another finding.
  std::optional<Edit> AddFixes(Finding* finding, const std::string& key);

  // Candidates that were not tried for want of budget.
  uint64_t skipped() const { return skipped_; }

 private:
  struct Costed {
    Fix fix;
    Edit edit;
    PathCost cost;
  };

  bool Verify(const Finding& finding, const std::string& key, Candidate& candidate);
  Fix Priced(Fix fix, const PathCost& cost);

  const Tape& tape_;
  CheckOptions check_;
  bool hangs_ = false;  // the finding would be gone, and a wait for a value would never end
  std::set<std::string> before_;
  uint64_t budget_;
  EventId event_;
  uint64_t replayed_ = 0, skipped_ = 0;
  PathCost as_is_;
};

}  // namespace ss
