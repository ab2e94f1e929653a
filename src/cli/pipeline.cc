// `streamsan pipeline check`: the verdict on mbarrier protocols, for every schedule.
#include "src/report/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "src/base/file.h"
#include "src/cli/inputs.h"
#include "src/cli/observed.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/report/html.h"
#include "src/report/sarif.h"

namespace ss {
namespace {

// A report points into its protocol.
struct Checked {
  std::vector<std::unique_ptr<pipeline::Protocol>> protocols;
  std::vector<PipelineReport> reports;
};

Result<void> CheckFile(const std::string& path, const PipelineCommandOptions& options,
                       Checked& checked) {
  Result<std::string> text = ReadText(path);
  if (!text) return tl::unexpected(text.error());
  Result<pipeline::Protocol> protocol = pipeline::ParseProtocol(*text, path);
  if (!protocol) return tl::unexpected(protocol.error());
  checked.protocols.push_back(std::make_unique<pipeline::Protocol>(std::move(*protocol)));
  const auto begin = std::chrono::steady_clock::now();
  PipelineReport report{path, pipeline::Lower(*checked.protocols.back()), {}, 0};
  report.verdict = pipeline::Check(report.program, {options.max_states});
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.report.min_confidence != Confidence::kPossible) {
    report.hidden = std::erase_if(
        report.verdict.findings, [](const pipeline::Finding& finding) { return !finding.certain; });
  }
  for (const pipeline::Finding& finding : report.verdict.findings) {
    report.fixes.push_back(finding.absorbed ? std::vector<PipelineFix>{}
                                            : PipelineFixes(report.program, report.verdict, finding,
                                                            {options.max_states}));
  }
  checked.reports.push_back(std::move(report));
  return {};
}

std::string Printed(const std::vector<PipelineReport>& reports, const ReportOptions& options) {
  switch (options.format) {
    case Format::kJson:
      return PrintPipelineJson(reports);
    case Format::kHtml:
      return PrintPipelineHtml(reports);
    case Format::kSarif:
      return PrintPipelineSarif(reports);
    default:
      return PrintPipelineText(reports, options.print_limit);
  }
}

}  // namespace

int PipelineCommand(const PipelineCommandOptions& options) {
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".pipe", ".sslog"});
  if (!files) return Complain(files.error());
  const auto recorded =
      std::stable_partition(files->begin(), files->end(),
                            [](const std::string& path) { return !HasSuffix(path, ".sslog"); });
  if (recorded == files->begin() && options.report.format == Format::kHtml) {
    return Complain({*recorded, "no page is made of a recording", "--format text, json or sarif"});
  }
  if (recorded == files->begin()) {
    Result<int> judged = JudgeRecordings(*files, options.report, 0);
    return judged ? *judged : Complain(judged.error());
  }
  if (recorded != files->end()) {
    return Complain({*recorded, "recordings and .pipe files have reports of their own",
                     "check them one after the other"});
  }
  Checked checked;
  uint64_t hazards = 0;
  bool exhaustive = true, all_read = true;
  for (const std::string& path : *files) {
    Result<void> done = CheckFile(path, options, checked);
    if (!done) {
      Complain(done.error());
      all_read = false;
      continue;
    }
    hazards += checked.reports.back().verdict.Hazards();
    exhaustive = exhaustive && checked.reports.back().verdict.exhaustive;
  }
  if (checked.reports.empty()) return kExitUsage;
  Result<void> written =
      WriteReport(Printed(checked.reports, options.report), options.report.report_file);
  if (!written) return Complain(written.error());
  if (!all_read) return kExitUsage;
  if (hazards) return options.report.error_exitcode;
  return (exhaustive ? 100 : 0) < options.report.require_coverage ? kExitCoverage : kExitOk;
}

}  // namespace ss
