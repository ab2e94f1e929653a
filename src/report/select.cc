#include "src/report/select.h"

#include <fmt/format.h>

namespace ss {

Selection Select(const Report& report, SelectOptions options, Symboliser& symbols) {
  Selection selection;
  for (const Finding& finding : report.findings) {
    if (finding.absorbed) continue;
    Confidence confidence = finding.handover_only ? Confidence::kPossible : finding.confidence;
    if (confidence < options.min_confidence) {
      ++selection.below_confidence;
    } else if (Suppress(options.suppressions, finding, symbols)) {
      ++selection.suppressed;
    } else {
      std::string alias = fmt::format("H{}", selection.hazards.size() + 1);
      selection.hazards.push_back({&finding, alias, confidence});
    }
  }
  for (const Advice& advice : report.advice) {
    if (Suppress(options.suppressions, advice)) {
      ++selection.suppressed_advice;
    } else {
      selection.advice.push_back(&advice);
    }
  }
  selection.suppressions = std::move(options.suppressions);
  return selection;
}

}  // namespace ss
