// `streamsan diff`: what changed between two runs: hazards, waits, coverage.
#include <fmt/format.h>

#include "src/base/file.h"
#include "src/cli/inputs.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/report/compare.h"

namespace ss {
namespace {

Result<DiffSide> Load(const std::string& path, const DiffCommandOptions& options) {
  if (HasSuffix(path, ".json")) {
    Result<std::string> text = ReadText(path);
    if (!text) return tl::unexpected(text.error());
    return ParseDiffSide(*text, path);
  }
  CheckCommandOptions check;
  check.report = options.report;
  check.paths = {path};
  Symboliser symbols;
  std::vector<Wait> waits;
  Result<Report> report =
      AnalyseInputs(check, symbols, [&](const Analysis& analysis, StackId offset) {
        for (Wait& wait : analysis.Waits()) {
          if (wait.stack != 0) wait.stack += offset;
          waits.push_back(std::move(wait));
        }
      });
  if (!report) return tl::unexpected(report.error());
  SelectOptions select;
  select.min_confidence = options.report.min_confidence.value_or(Confidence::kLikely);
  DiffSide side = SideOf(path, *report, Select(*report, std::move(select), symbols));
  side.has_waits = true;
  for (const Wait& wait : waits) {
    const Frame* frame = SiteOf(symbols.Frames(wait.stack));
    ++side.waits[frame != nullptr ? fmt::format("{} [{}]", wait.text, ShortText(*frame))
                                  : wait.text];
  }
  return side;
}

}  // namespace

int DiffCommand(const DiffCommandOptions& options) {
  Result<DiffSide> before = Load(options.before, options);
  if (!before) return Complain(before.error());
  Result<DiffSide> after = Load(options.after, options);
  if (!after) return Complain(after.error());
  fmt::print("{}", options.report.format == Format::kJson ? PrintDiffJson(*before, *after)
                                                          : PrintDiff(*before, *after));
  return NewHazardsOf(*before, *after) ? kExitHazard : kExitOk;
}

}  // namespace ss
