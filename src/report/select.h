// Decides what of a report is shown; the printers print what they are given.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/program/finding.h"
#include "src/report/suppressions.h"
#include "src/report/symbols.h"

namespace ss {

struct SelectOptions {
  Confidence min_confidence = Confidence::kLikely;
  std::vector<Suppression> suppressions;
  std::set<std::string> baseline;  // ids of known hazards
};

struct Selection {
  struct Hazard {
    const Finding* finding = nullptr;
    std::string id;           // see ids.h
    std::string alias;        // "H1", ...: position in this report
    Confidence confidence{};  // as judged; an order by hand-over alone counts as `possible`
  };
  std::vector<Hazard> hazards;
  std::vector<const Advice*> advice;
  uint64_t below_confidence = 0;  // hazards not shown: --min-confidence
  uint64_t suppressed = 0;        // hazards not shown: suppressions
  uint64_t suppressed_advice = 0;
  uint64_t known = 0;                      // hazards not shown: the baseline
  std::vector<std::string> baseline_gone;  // ids of the baseline that no hazard has any more
  std::vector<Suppression> suppressions;   // with their counts
};

// The selection points into `report`, which must outlive it.
Selection Select(const Report& report, SelectOptions options, Symboliser& symbols);

}  // namespace ss
