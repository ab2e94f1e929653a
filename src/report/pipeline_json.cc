#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/pipeline/picture.h"
#include "src/report/pipeline.h"
#include "src/report/pipeline_ids.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;
using pipeline::Finding;

Json Site(const PipelineReport& report, const std::string& role, uint32_t line) {
  if (role.empty()) return nullptr;
  return {{"op", line},
          {"name", nullptr},
          {"lane", role},
          {"rank", 0},
          {"access", nullptr},
          {"stack", Json::array({{{"fn", nullptr},
                                  {"file", report.file},
                                  {"line", line},
                                  {"module", nullptr},
                                  {"offset", nullptr}}})}};
}

Json Witness(const PipelineReport& report, const Finding& finding) {
  if (!finding.scheduled) return nullptr;
  const pipeline::Picture picture = MakePicture(report.program, finding, SIZE_MAX);
  Json steps = Json::array();
  for (const pipeline::PictureRow& row : picture.rows) {
    steps.push_back({{"step", row.number ? Json(row.number) : Json()},
                     {"lane", picture.lanes[row.lane]},
                     {"op", row.text},
                     {"note", row.note},
                     {"line", row.line}});
  }
  return {{"steps", picture.steps}, {"shown", steps}};
}

Json Fixes(const PipelineReport& report, const Finding& finding) {
  Json fixes = Json::array();
  const size_t index = static_cast<size_t>(&finding - report.verdict.findings.data());
  if (index >= report.fixes.size()) return fixes;
  for (const PipelineFix& fix : report.fixes[index]) {
    fixes.push_back(
        {{"kind", "delete"}, {"text", fix.text}, {"verified", true}, {"alike", fix.gone}});
  }
  return fixes;
}

Json Hazard(const PipelineReport& report, const Finding& finding, size_t number) {
  Json fixes = Fixes(report, finding);
  return {
      {"id", IdOf(finding)},
      {"code", finding.code},
      {"severity", "error"},
      {"confidence", finding.certain ? "certain" : "possible"},
      {"count", 1},
      {"struck", false},
      {"buffer", {{"name", finding.subject}, {"bytes", 0}, {"range", {0, 0}}, {"owner", nullptr}}},
      {"first", Site(report, finding.role, finding.line)},
      {"second", Site(report, finding.other, finding.other_line)},
      {"missing_edge", nullptr},
      {"root_cause", finding.text},
      {"fix", fixes.empty() ? Json() : fixes[0]},
      {"alias", fmt::format("H{}", number)},
      {"source", report.file},
      {"fixes", fixes},
      {"evidence", Json::array()},
      {"witness", Witness(report, finding)}};
}

Json StuckStates(const PipelineReport& report) {
  Json states = Json::array();
  for (const auto& roles : report.verdict.stuck) states.push_back(roles);
  return states;
}

}  // namespace

std::string PrintPipelineJson(const std::vector<PipelineReport>& reports) {
  Json hazards = Json::array(), stuck = Json::array();
  bool exhaustive = true;
  uint64_t steps = 0, states = 0, agents = 0, hidden = 0;
  double seconds = 0;
  for (const PipelineReport& report : reports) {
    for (const Finding& finding : report.verdict.findings) {
      if (!finding.absorbed) hazards.push_back(Hazard(report, finding, hazards.size() + 1));
    }
    for (const Json& roles : StuckStates(report)) stuck.push_back(roles);
    exhaustive = exhaustive && report.verdict.exhaustive;
    steps += report.verdict.steps;
    states += report.verdict.states;
    agents += report.verdict.agents;
    seconds += report.seconds;
    hidden += report.hidden;
  }
  Json unmodelled = Json::array();
  if (!exhaustive) unmodelled.push_back({{"name", "schedules beyond --states"}, {"count", 1}});
  const std::string title = reports.size() == 1 ? reports[0].program.protocol->title : "";
  Json root = {{"schema", 1},
               {"streamsan", {{"version", STREAMSAN_VERSION}}},
               {"program",
                {{"name", reports.size() == 1 ? Json(reports[0].file) : Json()},
                 {"title", title.empty() ? Json() : Json(title)},
                 {"pid", nullptr}}},
               {"coverage", {{"complete", exhaustive}, {"dropped", 0}, {"unmodelled", unmodelled}}},
               {"hazards", hazards},
               {"advice", Json::array()},
               {"stats",
                {{"operations", steps},
                 {"accesses", 0},
                 {"lanes", agents},
                 {"seconds", seconds},
                 {"states", states}}},
               {"hidden", {{"below_confidence", hidden}}},
               {"stuck_states", stuck}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ss
