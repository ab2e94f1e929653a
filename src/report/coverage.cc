#include "src/report/coverage.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss {
namespace {

constexpr size_t kNamesShown = 12;

// One decimal, rounded down, so that 99.97% never reads as 100%.
std::string Percent(uint64_t part, uint64_t whole) {
  if (part >= whole) return "100%";
  const uint64_t tenths = part * 1000 / whole;
  return fmt::format("{}.{}%", tenths / 10, tenths % 10);
}

std::string UnmodelledLine(const Coverage& coverage) {
  std::string line = "not modelled:";
  size_t shown = std::min(kNamesShown, coverage.unmodelled.size());
  for (size_t i = 0; i < shown; ++i) {
    const Coverage::Unmodelled& call = coverage.unmodelled[i];
    line += fmt::format("{} {} ({})", i ? "," : "", call.name, call.count);
  }
  size_t more = coverage.unmodelled.size() - shown;
  return more ? line + fmt::format(" and {} more", more) : line;
}

}  // namespace

std::string CoverageText(const Report& report) {
  const Coverage& coverage = report.coverage;
  std::string text = coverage.complete ? "" : "INCOMPLETE: ";
  const bool nothing = !coverage.complete && coverage.calls == 0;
  text += nothing ? std::string("no call was seen")
                  : fmt::format("calls {}", Percent(coverage.calls_modelled, coverage.calls));
  if (coverage.launches) {
    text += fmt::format(", launches with known accesses {}",
                        Percent(coverage.launches_resolved, coverage.launches));
  }
  bool recorded = report.pid != 0;
  return text +
         (recorded ? ", CPU accesses: copies, frees, host functions and annotations only." : ".");
}

std::vector<std::string> GapLines(const Coverage& coverage) {
  std::vector<std::string> lines;
  if (coverage.late) lines.push_back("attached late: the program had used the driver before");
  if (coverage.dropped) lines.push_back(fmt::format("{} records were dropped", coverage.dropped));
  if (!coverage.unmodelled.empty()) lines.push_back(UnmodelledLine(coverage));
  if (coverage.launches > coverage.launches_resolved) {
    lines.push_back(fmt::format("{} of {} launches: what they read and write is not known",
                                coverage.launches - coverage.launches_resolved, coverage.launches));
  }
  if (coverage.muted_private) {
    lines.push_back(
        fmt::format("{} hazards on memory private to libraries are muted", coverage.muted_private));
  }
  lines.insert(lines.end(), coverage.notes.begin(), coverage.notes.end());
  return lines;
}

int CoveragePercent(const Coverage& coverage) {
  auto percent = [](uint64_t part, uint64_t whole) {
    return part >= whole ? 100 : static_cast<int>(part * 100 / whole);
  };
  // Of nothing, nothing was seen: a program that was not watched is not 99% covered.
  if (!coverage.complete && coverage.calls == 0) return 0;
  int least = std::min(percent(coverage.calls_modelled, coverage.calls),
                       percent(coverage.launches_resolved, coverage.launches));
  return coverage.complete ? least : std::min(least, 99);
}

}  // namespace ss
