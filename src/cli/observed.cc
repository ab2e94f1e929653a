#include "src/cli/observed.h"

#include <set>

#include "src/base/file.h"
#include "src/cli/output.h"
#include "src/kernels/places.h"
#include "src/report/observed.h"
#include "src/report/sarif.h"

namespace ss {
namespace {

// The instructions that findings name, from the modules that the recording kept.
void LookUpPlaces(const pipeline::Recording& recording, ObservedReport& report) {
  if (report.seen.findings.empty()) return;
  Result<kernels::Disassembler> disassembler = kernels::Disassembler::Find();
  if (!disassembler) {
    report.places_problem = disassembler.error().Text();
    return;
  }
  std::map<uint64_t, kernels::CodePlaces> modules;
  for (const pipeline::SeenFinding& finding : report.seen.findings) {
    const pipeline::SeenKernel& kernel = report.seen.kernels[finding.kernel];
    const auto cubin = recording.cubins.find(kernel.module);
    if (cubin == recording.cubins.end()) continue;
    auto [module, fresh] = modules.try_emplace(kernel.module);
    if (fresh) {
      Result<kernels::CodePlaces> places = kernels::ReadPlaces(*disassembler, cubin->second);
      if (places) module->second = std::move(*places);
      if (!places) report.places_problem = places.error().Text();
    }
    const auto code = module->second.find(kernel.name);
    if (code == module->second.end()) continue;
    const auto place = code->second.find(finding.place);
    if (place != code->second.end())
      report.places[{finding.kernel, finding.place}] = {place->second.sass, place->second.lines};
  }
}

Result<ObservedReport> Judge(const std::string& file) {
  Result<std::string> bytes = ReadBytes(file);
  if (!bytes) return tl::unexpected(bytes.error());
  Result<pipeline::Recording> recording = pipeline::ReadRecording(*bytes, file);
  if (!recording) return tl::unexpected(recording.error());
  ObservedReport report{file, pipeline::Observe(*recording), {}, {}};
  LookUpPlaces(*recording, report);
  return report;
}

std::string Printed(const std::vector<ObservedReport>& reports, const ReportOptions& options) {
  switch (options.format) {
    case Format::kJson:
      return PrintObservedJson(reports);
    case Format::kSarif:
      return PrintObservedSarif(reports);
    default:
      return PrintObservedText(reports, options.print_limit);
  }
}

}  // namespace

Result<int> JudgeRecordings(const std::vector<std::string>& files, const ReportOptions& options,
                            int program) {
  std::vector<ObservedReport> reports;
  uint64_t hazards = 0;
  bool complete = true;
  for (const std::string& file : files) {
    Result<ObservedReport> report = Judge(file);
    if (!report) return tl::unexpected(report.error());
    hazards += report->Hazards();
    complete = complete && report->Complete();
    reports.push_back(std::move(*report));
  }
  Result<void> written = WriteReport(Printed(reports, options), options.report_file);
  if (!written) return tl::unexpected(written.error());
  if (hazards) return options.error_exitcode;
  if (program) return program;
  return (complete ? 100 : 0) < options.require_coverage ? kExitCoverage : kExitOk;
}

}  // namespace ss
