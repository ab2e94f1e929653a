// `streamsan pipeline check`: the verdict on mbarrier protocols, for every schedule.
#include "src/report/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "src/cli/inputs.h"
#include "src/cli/options.h"
#include "src/cli/output.h"

namespace ss {
namespace {

// A report points into its protocol.
struct Checked {
  std::vector<std::unique_ptr<pipeline::Protocol>> protocols;
  std::vector<PipelineReport> reports;
};

Result<void> CheckFile(const std::string& path, const PipelineCommandOptions& options,
                       Checked& checked) {
  Result<std::string> text = ReadWholeFile(path);
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
  checked.reports.push_back(std::move(report));
  return {};
}

Result<void> Write(const std::string& text, const std::string& file) {
  if (file.empty()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return {};
  }
  std::unique_ptr<FILE, int (*)(FILE*)> out(std::fopen(file.c_str(), "wb"), std::fclose);
  if (!out || std::fwrite(text.data(), 1, text.size(), out.get()) != text.size() ||
      std::fflush(out.get()) != 0)
    return Fail(file, "the report cannot be written");
  return {};
}

}  // namespace

int PipelineCommand(const PipelineCommandOptions& options) {
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".pipe"});
  if (!files) return Complain(files.error());
  Checked checked;
  uint64_t hazards = 0;
  bool exhaustive = true;
  for (const std::string& path : *files) {
    Result<void> done = CheckFile(path, options, checked);
    if (!done) return Complain(done.error());
    hazards += checked.reports.back().verdict.Hazards();
    exhaustive = exhaustive && checked.reports.back().verdict.exhaustive;
  }
  Result<void> written = Write(options.report.format == Format::kJson
                                   ? PrintPipelineJson(checked.reports)
                                   : PrintPipelineText(checked.reports, options.report.print_limit),
                               options.report.report_file);
  if (!written) return Complain(written.error());
  if (hazards) return options.report.error_exitcode;
  return (exhaustive ? 100 : 0) < options.report.require_coverage ? kExitCoverage : kExitOk;
}

}  // namespace ss
