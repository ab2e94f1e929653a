// Hazards inside kernels, as SARIF.
#include <fmt/format.h>

#include <cstdlib>

#include "src/pipeline/picture.h"
#include "src/report/pipeline_ids.h"
#include "src/report/sarif.h"
#include "src/report/sarif_log.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = SarifLog::Json;

Json InFile(const std::string& file, uint32_t line) {
  return {{"physicalLocation", SarifLog::Physical(file, line)}};
}

// The schedule that leads to it, step by step.
Json Schedule(const PipelineReport& report, const pipeline::Finding& finding) {
  Json steps = Json::array();
  const pipeline::Picture picture = MakePicture(report.program, finding, SIZE_MAX);
  for (const pipeline::PictureRow& row : picture.rows) {
    Json location = InFile(report.file, row.line);
    location["message"] =
        SarifLog::Text(fmt::format("{}: {}  {}", picture.lanes[row.lane], row.text, row.note));
    steps.push_back({{"location", location}, {"executionOrder", steps.size() + 1}});
  }
  return steps;
}

void Add(SarifLog& log, const PipelineReport& report, const pipeline::Finding& finding) {
  const size_t index = static_cast<size_t>(&finding - report.verdict.findings.data());
  std::string message = finding.text;
  if (index < report.fixes.size() && !report.fixes[index].empty())
    message += fmt::format(" Fix: {} (verified).", report.fixes[index].front().text);
  const Confidence confidence = finding.certain ? Confidence::kCertain : Confidence::kPossible;
  Json result = log.Result(finding.code, "error", message);
  result["locations"] = Json::array({InFile(report.file, finding.line)});
  result["partialFingerprints"] = {{kSarifFingerprint, IdOf(finding)}};
  result["rank"] = SarifRank(confidence);
  if (!finding.other.empty()) {
    Json other = InFile(report.file, finding.other_line);
    other["id"] = 1;
    other["message"] = SarifLog::Text(finding.other);
    result["relatedLocations"] = Json::array({other});
  }
  if (finding.scheduled) {
    const Json steps = Schedule(report, finding);
    if (!steps.empty())
      result["codeFlows"] = Json::array({{{"threadFlows", Json::array({{{"locations", steps}}})}}});
  }
  result["properties"] = {
      {"confidence", Name(confidence)}, {"pipeline", finding.subject}, {"role", finding.role}};
  log.Add(std::move(result));
}

// Source lines where the binary has them, the innermost first; else the kernel.
Json Place(const ObservedReport& report, const pipeline::SeenFinding& finding) {
  Json location = {
      {"logicalLocations",
       Json::array({SarifLog::Logical(KernelText(report.seen.kernels[finding.kernel].name))})}};
  const auto place = report.places.find({finding.kernel, finding.place});
  if (place == report.places.end() || place->second.lines.empty()) return location;
  const std::string& line = place->second.lines.front();  // FILE:LINE
  const size_t colon = line.rfind(':');
  location["physicalLocation"] = SarifLog::Physical(
      line.substr(0, colon),
      static_cast<uint32_t>(std::strtoul(line.c_str() + colon + 1, nullptr, 10)));
  return location;
}

void Add(SarifLog& log, const ObservedReport& report, const pipeline::SeenFinding& finding) {
  const pipeline::SeenKernel& kernel = report.seen.kernels[finding.kernel];
  const Confidence confidence = finding.certain ? Confidence::kCertain : Confidence::kLikely;
  std::string message = Sentence(finding.text);
  for (const std::string& detail : finding.details) message += " " + Sentence(detail) + ".";
  Json result = log.Result(finding.code, "error", message);
  result["locations"] = Json::array({Place(report, finding)});
  result["partialFingerprints"] = {{kSarifFingerprint, IdOf(kernel, finding)}};
  result["occurrenceCount"] = finding.times;
  result["rank"] = SarifRank(confidence);
  result["properties"] = {{"confidence", Name(confidence)},
                          {"role", finding.role},
                          {"barriers", finding.barriers},
                          {"recording", report.source}};
  log.Add(std::move(result));
}

}  // namespace

std::string PrintPipelineSarif(const std::vector<PipelineReport>& reports) {
  SarifLog log;
  std::string files;
  bool exhaustive = true;
  for (const PipelineReport& report : reports) {
    for (const pipeline::Finding& finding : report.verdict.findings) {
      if (!finding.absorbed) Add(log, report, finding);
    }
    exhaustive = exhaustive && report.verdict.exhaustive;
    files += (files.empty() ? "" : " ") + report.file;
  }
  log.Note(CoverageText(reports), !exhaustive);
  return log.Print(files);
}

std::string PrintObservedSarif(const std::vector<ObservedReport>& reports) {
  SarifLog log;
  std::string files;
  for (const ObservedReport& report : reports) {
    for (const pipeline::SeenFinding& finding : report.seen.findings) Add(log, report, finding);
    log.Note(report.CoverageText(), !report.Complete());
    files += (files.empty() ? "" : " ") + report.source;
  }
  return log.Print(files);
}

}  // namespace ss
