#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "src/report/observed.h"
#include "src/report/pipeline_ids.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;
using pipeline::SeenFinding;
using pipeline::SeenKernel;
using pipeline::SeenPair;
using pipeline::SeenRole;

// A site as every report has it: `op` is the instruction's offset in the kernel.
Json Site(const ObservedReport& report, const SeenFinding& finding) {
  const auto it = report.places.find({finding.kernel, finding.place});
  Json stack = Json::array();
  if (it != report.places.end()) {
    for (const std::string& line : it->second.lines) {
      const size_t colon = line.rfind(':');
      stack.push_back({{"fn", nullptr},
                       {"file", line.substr(0, colon)},
                       {"line", std::strtoul(line.c_str() + colon + 1, nullptr, 10)},
                       {"module", nullptr},
                       {"offset", nullptr}});
    }
  }
  return {{"op", finding.place},
          {"name", report.seen.kernels[finding.kernel].name},
          {"lane", finding.role},
          {"rank", 0},
          {"access", it == report.places.end() ? Json() : Json(it->second.sass)},
          {"stack", stack}};
}

Json Hazard(const ObservedReport& report, const SeenFinding& finding, size_t number) {
  const SeenKernel& kernel = report.seen.kernels[finding.kernel];
  const std::string barrier =
      finding.barriers.empty() ? "" : kernel.BarrierName(finding.barriers.front());
  return {{"id", IdOf(kernel, finding)},
          {"code", finding.code},
          {"severity", "error"},
          {"confidence", finding.certain ? "certain" : "likely"},
          {"count", finding.times},
          {"struck", finding.code == "pipeline-deadlock"},
          {"buffer", {{"name", barrier}, {"bytes", 0}, {"range", {0, 0}}, {"owner", nullptr}}},
          {"first", Site(report, finding)},
          {"second", nullptr},
          {"missing_edge", nullptr},
          {"root_cause", finding.text},
          {"fix", nullptr},
          {"alias", fmt::format("H{}", number)},
          {"source", report.source},
          {"fixes", Json::array()},
          {"evidence", finding.details},
          {"barriers", finding.barriers}};
}

Json Names(const SeenKernel& kernel, const std::vector<uint32_t>& roles) {
  Json names = Json::array();
  for (uint32_t role : roles) names.push_back(kernel.roles[role].name);
  return names;
}

Json Kernel(const SeenKernel& kernel) {
  Json pairs = Json::array(), barriers = Json::array(), roles = Json::array();
  for (const SeenPair& pair : kernel.pairs) {
    pairs.push_back({{"full", pair.full},
                     {"empty", pair.empty},
                     {"oriented", pair.oriented},
                     {"producers", Names(kernel, pair.producers)},
                     {"consumers", Names(kernel, pair.consumers)}});
  }
  for (const auto& [offset, barrier] : kernel.barriers) {
    barriers.push_back({{"offset", offset},
                        {"arrivals", barrier.expected},
                        {"arrivals_seen", barrier.arrivals != pipeline::Arrivals::kNotAll},
                        {"phases", barrier.phases},
                        {"copies", barrier.bytes}});
  }
  for (const SeenRole& role : kernel.roles) {
    Json uses = Json::array();
    for (const auto& [offset, use] : role.uses) {
      uses.push_back({{"barrier", offset},
                      {"waits", use.waits},
                      {"failed", use.failed},
                      {"arrivals", use.arrivals},
                      {"later_arrivals", use.later},
                      {"copies", use.copies}});
    }
    roles.push_back({{"name", role.name}, {"warps", role.warps}, {"uses", uses}});
  }
  return {{"name", kernel.name},
          {"launches", kernel.launches},
          {"blocks", kernel.blocks},
          {"blocks_watched", kernel.blocks_watched},
          {"records", kernel.records},
          {"unused_barriers", kernel.unused},
          {"roles", roles},
          {"barriers", barriers},
          {"pairs", pairs}};
}

}  // namespace

std::string PrintObservedJson(const std::vector<ObservedReport>& reports) {
  Json hazards = Json::array(), kernels = Json::array(), unmodelled = Json::array();
  uint64_t records = 0, dropped = 0, launches = 0, roles = 0, unseen = 0, unread = 0, withheld = 0;
  bool complete = true, hung = false;
  const auto miss = [&unmodelled](const char* what, uint64_t count) {
    if (count) unmodelled.push_back({{"name", what}, {"count", count}});
  };
  for (const ObservedReport& report : reports) {
    for (const SeenFinding& finding : report.seen.findings)
      hazards.push_back(Hazard(report, finding, hazards.size() + 1));
    uint64_t blocks = 0;
    for (const SeenKernel& kernel : report.seen.kernels) {
      if (kernel.barriers.empty()) continue;
      kernels.push_back(Kernel(kernel));
      blocks += kernel.blocks - kernel.blocks_watched;
      roles += kernel.roles.size();
      unseen += kernel.Unseen().size();
      unread += kernel.unread;
      withheld += kernel.withheld;
    }
    records += report.seen.records;
    dropped += report.seen.dropped;
    launches += report.seen.launches;
    miss("launches that were not watched", report.seen.unwatched);
    miss("blocks that were not watched", blocks);
    miss("graph launches", report.seen.graphs);
    miss("recordings that broke off", report.seen.cut_short);
    complete = complete && report.Complete();
    hung = hung || report.seen.hung;
  }
  miss("mbarriers with arrivals that were not seen", unseen);
  miss("arrivals and looks whose mbarrier could not be read", unread);
  miss("waits that may have been early", withheld);
  const Json root = {
      {"schema", 1},
      {"streamsan", {{"version", STREAMSAN_VERSION}}},
      {"program",
       {{"name", reports.size() == 1 ? Json(reports[0].source) : Json()},
        {"title", nullptr},
        {"pid", nullptr}}},
      {"coverage", {{"complete", complete}, {"dropped", dropped}, {"unmodelled", unmodelled}}},
      {"hazards", hazards},
      {"advice", Json::array()},
      {"stats",
       {{"operations", records}, {"accesses", 0}, {"lanes", roles}, {"launches", launches}}},
      {"hidden", {{"below_confidence", 0}}},
      {"hung", hung},
      {"kernels", kernels}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ss
