// `streamsan explain`: the whole story of one hazard.
#include <fmt/format.h>

#include <cstdio>

#include "src/cli/choose.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/report/explanation.h"
#include "src/report/html.h"

namespace ss {
namespace {

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
  Result<Selection> chosen =
      ChooseHazard(*report, options.report, options.path, options.id, symbols);
  if (!chosen) return Complain(chosen.error());
  PrintInput input{*report, *chosen, symbols};
  Result<void> written =
      Write(options.report.format == Format::kHtml ? PrintHtml(input)
                                                   : PrintExplanation(input, chosen->hazards[0]),
            options.report.report_file);
  return written ? kExitOk : Complain(written.error());
}

}  // namespace ss
