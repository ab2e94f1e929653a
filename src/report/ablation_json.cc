#include "src/program/op_names.h"
#include "src/report/ablation.h"
#include "src/report/json_parts.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;

Json SiteJson(const Site& site) {
  if (!site.op) return nullptr;
  return {{"op", site.op},
          {"name", TextOrNull(site.name)},
          {"lane", TextOrNull(LaneText(site))},
          {"access", TextOrNull(site.access)}};
}

Json HazardJson(const Finding& finding) {
  return {{"code", finding.code},
          {"confidence", Name(finding.confidence)},
          {"count", finding.count},
          {"buffer", {{"name", TextOrNull(finding.buffer.name)}, {"bytes", finding.buffer.bytes}}},
          {"first", SiteJson(finding.first)},
          {"second", SiteJson(finding.second)}};
}

Json WaitJson(const AblationInput& input, const Wait& wait) {
  Json stack = Json::array();
  if (wait.line) stack.push_back(FrameJson({"", input.report.program, wait.line, "", 0}));
  for (const Frame& frame : input.symbols.Frames(wait.stack)) stack.push_back(FrameJson(frame));
  Json hazards = Json::array();
  for (const Finding& finding : wait.hazards) hazards.push_back(HazardJson(finding));
  return {{"op", wait.op},      {"kind", Name(wait.kind)},
          {"text", wait.text},  {"host", TextOrNull(wait.host)},
          {"stack", stack},     {"verdict", Name(wait.verdict)},
          {"hazards", hazards}, {"place", wait.place}};
}

Json PlaceJson(const WaitPlace& place) {
  Json hazards = Json::array();
  for (const Finding& finding : place.hazards) hazards.push_back(HazardJson(finding));
  return {
      {"waits", place.waits},
      {"verdict", Name(place.verdict)},
      {"hazards", hazards},
      {"redundant_alone_but_not_with", place.not_without},
      {"critical_path", place.path_before ? Json({place.path_before, place.path_after}) : Json()},
      {"delay", place.delay},
      {"held_blocks", place.held_blocks},
      {"held_bytes", place.held_bytes}};
}

}  // namespace

std::string PrintAblationJson(const AblationInput& input) {
  Json waits = Json::array();
  uint64_t counts[3] = {};
  for (const Wait& wait : input.ablation.waits) {
    waits.push_back(WaitJson(input, wait));
    ++counts[static_cast<size_t>(wait.verdict)];
  }
  Json places = Json::array();
  for (const WaitPlace& place : input.ablation.places) places.push_back(PlaceJson(place));
  Json root = {{"schema", 1},
               {"streamsan", {{"version", STREAMSAN_VERSION}}},
               {"program",
                {{"name", TextOrNull(input.report.program)},
                 {"title", TextOrNull(input.report.title)},
                 {"pid", input.report.pid ? Json(input.report.pid) : Json()}}},
               {"coverage", CoverageJson(input.report.coverage)},
               {"waits", waits},
               {"load_bearing", counts[0]},
               {"redundant", counts[1]},
               {"not_tried", counts[2]},
               {"hazards", input.ablation.hazards},
               {"operations", input.ablation.operations},
               {"places", places},
               {"minimal", input.ablation.minimal},
               {"minimal_whole", input.ablation.minimal_whole}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ss
