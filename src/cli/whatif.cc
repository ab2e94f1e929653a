// `streamsan whatif`: the program with an edge more, or a wait less, judged again.
#include <fmt/format.h>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/report/compare.h"

namespace ss {
namespace {

Result<std::vector<EdgeRequest>> ParseEdges(const WhatIfCommandOptions& options) {
  std::vector<EdgeRequest> edges;
  if (options.first_fixes) edges.push_back({EdgeRequest::Kind::kFirstFixes, "--first-fixes"});
  auto take = [&](const std::vector<std::string>& texts, auto parse) -> Result<void> {
    for (const std::string& text : texts) {
      Result<EdgeRequest> edge = parse(text);
      if (!edge) return tl::unexpected(edge.error());
      edge->once = options.once;
      edges.push_back(std::move(*edge));
    }
    return {};
  };
  Result<void> added = take(options.add, ParseAddition);
  if (!added) return tl::unexpected(added.error());
  Result<void> removed = take(options.remove, ParseRemoval);
  if (!removed) return tl::unexpected(removed.error());
  if (edges.empty())
    return Fail("whatif", "nothing to change", "--add FROM:TO, --remove WAIT, --first-fixes");
  return edges;
}

}  // namespace

int WhatIfCommand(const WhatIfCommandOptions& options) {
  Result<std::vector<EdgeRequest>> edges = ParseEdges(options);
  if (!edges) return Complain(edges.error());
  CheckCommandOptions check;
  check.report = options.report;
  check.verify = false;
  check.paths = {options.path};
  Symboliser symbols;
  const Confidence least = options.report.min_confidence.value_or(Confidence::kLikely);
  Result<WhatIf> result = Fail(options.path, "nothing in it");
  Result<Report> report = AnalyseProgram(
      check, symbols, [&](const Analysis& analysis) { result = analysis.Try(*edges, least); });
  if (!report) return Complain(report.error());
  if (!result) return Complain(result.error());
  fmt::print("{}", options.report.format == Format::kJson ? PrintWhatIfJson(*result, *report)
                                                          : PrintWhatIf(*result, *report));
  return result->fresh.empty() && result->stay.empty() ? kExitOk : kExitHazard;
}

}  // namespace ss
