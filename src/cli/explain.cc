// `streamsan explain`: the whole story of one hazard.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/report/explanation.h"
#include "src/report/html.h"

namespace ss {
namespace {

constexpr size_t kListed = 12;

bool Names(const Selection::Hazard& hazard, const std::string& id) {
  std::string upper = id;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return hazard.alias == upper || (id.size() >= 4 && hazard.id.compare(0, id.size(), id) == 0);
}

Error Unknown(const ExplainCommandOptions& options, const Selection& selection) {
  std::string known;
  for (const Selection::Hazard& hazard : selection.hazards) {
    if (std::stoul(hazard.alias.substr(1)) > kListed) break;
    known += fmt::format("{}{} {} ({} {})", known.empty() ? "" : ", ", hazard.alias, hazard.id,
                         hazard.finding->code, hazard.finding->buffer.name);
  }
  if (selection.hazards.size() > kListed)
    known += fmt::format(" and {} more", selection.hazards.size() - kListed);
  return {options.path, fmt::format("no hazard '{}'", options.id),
          known.empty() ? "there is none; --min-confidence possible shows what is less certain"
                        : "there are " + known};
}

Result<void> Write(const std::string& text, const std::string& file) {
  if (!file.empty()) return WriteWholeFile(file, text);
  fmt::print("{}", text);
  return {};
}

}  // namespace

int ExplainCommand(const ExplainCommandOptions& options) {
  CheckCommandOptions check;
  check.report = options.report;
  check.paths = {options.path};
  Symboliser symbols;
  Result<Report> report = AnalyseInputs(check, symbols);
  if (!report) return Complain(report.error());
  SelectOptions select;
  select.min_confidence = options.report.min_confidence.value_or(Confidence::kLikely);
  Selection selection = Select(*report, std::move(select), symbols);
  auto& hazards = selection.hazards;
  const Error unknown = Unknown(options, selection);
  std::erase_if(hazards, [&](const auto& hazard) { return !Names(hazard, options.id); });
  if (hazards.empty()) return Complain(unknown);
  hazards.resize(1);  // the same hazard on another rank is told the same way
  PrintInput input{*report, selection, symbols};
  Result<void> written =
      Write(options.report.format == Format::kHtml ? PrintHtml(input)
                                                   : PrintExplanation(input, hazards[0]),
            options.report.report_file);
  return written ? kExitOk : Complain(written.error());
}

}  // namespace ss
