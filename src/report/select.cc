#include "src/report/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/report/ids.h"

namespace ss {

Selection Select(const Report& report, SelectOptions options, Symboliser& symbols) {
  Selection selection;
  const std::vector<std::string> ids = IdsOf(report, symbols);
  for (size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& finding = report.findings[i];
    if (finding.absorbed) continue;
    Confidence confidence = finding.handover_only ? Confidence::kPossible : finding.confidence;
    if (confidence < options.min_confidence) {
      ++selection.below_confidence;
    } else if (Suppress(options.suppressions, finding, symbols)) {
      ++selection.suppressed;
    } else if (options.baseline.contains(ids[i])) {
      ++selection.known;
    } else {
      std::string alias = fmt::format("H{}", selection.hazards.size() + 1);
      selection.hazards.push_back({&finding, ids[i], alias, confidence});
    }
  }
  for (const Advice& advice : report.advice) {
    if (Suppress(options.suppressions, advice)) {
      ++selection.suppressed_advice;
    } else {
      selection.advice.push_back(&advice);
    }
  }
  const std::set<std::string> present(ids.begin(), ids.end());
  std::set_difference(options.baseline.begin(), options.baseline.end(), present.begin(),
                      present.end(), std::back_inserter(selection.baseline_gone));
  selection.suppressions = std::move(options.suppressions);
  return selection;
}

}  // namespace ss
