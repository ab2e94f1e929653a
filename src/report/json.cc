#include "src/program/op_names.h"
#include "src/report/coverage.h"
#include "src/report/json_parts.h"
#include "src/report/print.h"
#include "src/report/words.h"

namespace ss {
using Json = nlohmann::ordered_json;

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json FrameJson(const Frame& frame) {
  return {{"fn", TextOrNull(frame.fn)},
          {"file", TextOrNull(frame.file)},
          {"line", frame.line ? Json(frame.line) : Json()},
          {"module", TextOrNull(frame.module)},
          {"offset", frame.module.empty() && !frame.offset ? Json() : Json(frame.offset)}};
}

Json CoverageJson(const Coverage& coverage) {
  Json unmodelled = Json::array();
  for (const Coverage::Unmodelled& call : coverage.unmodelled) {
    unmodelled.push_back({{"name", call.name}, {"count", call.count}});
  }
  return {{"complete", coverage.complete},
          {"dropped", coverage.dropped},
          {"unmodelled", unmodelled},
          {"percent", CoveragePercent(coverage)},
          {"late", coverage.late},
          {"calls", coverage.calls},
          {"calls_modelled", coverage.calls_modelled},
          {"launches", coverage.launches},
          {"launches_resolved", coverage.launches_resolved},
          {"muted_private", coverage.muted_private},
          {"notes", coverage.notes}};
}

namespace {

// A litmus line is the one frame of its operation.
Json StackJson(const PrintInput& input, const std::string& source, StackId stack, uint32_t line) {
  Json frames = Json::array();
  const std::string& file = source.empty() ? input.report.program : source;
  if (line) frames.push_back(FrameJson({"", file, line, "", 0}));
  for (const Frame& frame : input.symbols.Frames(stack)) frames.push_back(FrameJson(frame));
  return frames;
}

// null: every byte of the range.
Json RowsJson(const Shape& rows) {
  if (rows.levels.empty()) return nullptr;
  Json levels = Json::array();
  for (const Shape::Level& level : rows.levels) {
    levels.push_back({{"pitch", level.pitch}, {"count", level.count}});
  }
  return {{"bytes", rows.row}, {"levels", levels}};
}

// null: that operation touches no bytes of the block, or nothing says which.
Json SiteJson(const PrintInput& input, const std::string& source, const Site& site) {
  if (!site.op) return nullptr;
  const bool touches = site.begin < site.end;
  return {{"op", site.op},
          {"name", TextOrNull(site.name)},
          {"lane", TextOrNull(site.lane)},
          {"rank", site.rank},
          {"access", TextOrNull(site.access)},
          {"stack", StackJson(input, source, site.stack, site.line)},
          {"label", TextOrNull(site.label)},
          {"host", TextOrNull(site.host)},
          {"range", touches ? Json::array({site.begin, site.end}) : Json()},
          {"rows", RowsJson(site.rows)},
          {"direction", touches ? Json(Name(site.direction)) : Json()},
          {"extent", touches ? Json(Name(site.extent)) : Json()}};
}

Json BufferJson(const PrintInput& input, const Finding& finding) {
  const BufferRef& buffer = finding.buffer;
  return {{"name", TextOrNull(buffer.name)},
          {"bytes", buffer.bytes},
          {"range", Json::array({buffer.begin, buffer.end})},
          {"owner", TextOrNull(buffer.owner)},
          {"stack", StackJson(input, finding.source, buffer.alloc_stack, buffer.alloc_line)}};
}

Json FixJson(const Fix& fix) {
  return {{"kind", Name(fix.kind)},
          {"consumer", TextOrNull(fix.consumer)},
          {"producer", TextOrNull(fix.producer)},
          {"buffer", TextOrNull(fix.buffer)},
          {"text", FixText(fix)},
          {"verified", fix.verified},
          {"alike", fix.alike},
          {"cost", TextOrNull(fix.cost)},
          {"critical_path", fix.path_before ? Json({fix.path_before, fix.path_after}) : Json()}};
}

Json FixesJson(const Finding& finding, bool verified) {
  Json fixes = Json::array();
  for (const Fix& fix : finding.fixes) {
    if (fix.verified == verified) fixes.push_back(FixJson(fix));
  }
  return fixes;
}

// "fix" is the first verified one: what was not verified is not offered as a fix.
Json FirstFix(const Finding& finding) {
  Json verified = FixesJson(finding, true);
  return verified.empty() ? Json() : verified[0];
}

Json EdgeJson(const Finding& finding) {
  if (finding.edge_from.empty() && finding.edge_to.empty()) return nullptr;
  return {{"from", TextOrNull(finding.edge_from)}, {"to", TextOrNull(finding.edge_to)}};
}

// The wait that each line of evidence is about.
Json EvidenceSites(const PrintInput& input, const Finding& finding) {
  Json sites = Json::array();
  for (const Site& site : finding.evidence_sites) {
    Json one;
    if (site.op != 0) {
      one = {{"op", site.op},
             {"name", site.name},
             {"stack", StackJson(input, finding.source, site.stack, site.line)}};
    }
    sites.push_back(std::move(one));
  }
  return sites;
}

Json HazardJson(const PrintInput& input, const Selection::Hazard& hazard) {
  const Finding& finding = *hazard.finding;
  return {{"id", hazard.id},
          {"code", finding.code},
          {"severity", finding.severity == Severity::kError ? "error" : "warning"},
          {"confidence", Name(hazard.confidence)},
          {"count", finding.count},
          {"struck", finding.struck},
          {"buffer", BufferJson(input, finding)},
          {"first", SiteJson(input, finding.source, finding.first)},
          {"second", SiteJson(input, finding.source, finding.second)},
          {"missing_edge", EdgeJson(finding)},
          {"root_cause", TextOrNull(finding.root_cause)},
          {"fix", FirstFix(finding)},
          {"change", TextOrNull(finding.change)},
          {"alias", hazard.alias},
          {"source", TextOrNull(finding.source)},
          {"reuse", SiteJson(input, finding.source, finding.reuse)},
          {"fixes", FixesJson(finding, true)},
          {"evidence", finding.evidence},
          {"evidence_sites", EvidenceSites(input, finding)},
          {"producer", SiteJson(input, finding.source, finding.producer)}};
}

Json AdviceJson(const PrintInput& input, const Advice& advice) {
  return {{"code", advice.code},
          {"subject", TextOrNull(advice.subject)},
          {"text", advice.text},
          {"count", advice.count},
          {"stack", StackJson(input, advice.source, advice.site.stack, advice.site.line)}};
}

Json HiddenJson(const Selection& selection) {
  Json unused = Json::array();
  for (const Suppression& line : selection.suppressions) {
    if (!line.matched) unused.push_back(line.place + ": " + line.code + ":" + line.glob);
  }
  return {{"below_confidence", selection.below_confidence},
          {"suppressed", selection.suppressed},
          {"suppressed_advice", selection.suppressed_advice},
          {"unused_suppressions", unused},
          {"known", selection.known},
          {"baseline_gone", selection.baseline_gone}};
}

Json TrialsJson(const std::vector<Trial>& trials) {
  Json all = Json::array();
  for (const Trial& trial : trials) {
    all.push_back({{"id", TextOrNull(trial.id)},
                   {"outcome", Name(trial.outcome)},
                   {"first", TextOrNull(trial.first)},
                   {"second", TextOrNull(trial.second)},
                   {"held_seconds", trial.seconds},
                   {"text", TrialText(trial)}});
  }
  return all;
}

Json ProgramJson(const Report& report) {
  return {{"name", TextOrNull(report.program)},
          {"title", TextOrNull(report.title)},
          {"pid", report.pid ? Json(report.pid) : Json()}};
}

Json StatsJson(const Stats& stats) {
  return {{"operations", stats.operations},
          {"accesses", stats.accesses},
          {"lanes", stats.lanes},
          {"seconds", stats.seconds}};
}

Json TrailJson(const PrintInput& input, const Trail& trail) {
  const auto site = [&](const Site& one) {
    return one.op == 0 ? Json() : SiteJson(input, "", one);
  };
  return {{"finished", site(trail.finished)}, {"next", site(trail.next)}, {"behind", trail.behind}};
}

}  // namespace

std::string PrintJson(const PrintInput& input) {
  Json hazards = Json::array(), advice = Json::array();
  for (const auto& hazard : input.selection.hazards) hazards.push_back(HazardJson(input, hazard));
  for (const Advice* item : input.selection.advice) advice.push_back(AdviceJson(input, *item));
  Json running = Json::array();
  for (const Site& site : input.report.running) running.push_back(SiteJson(input, "", site));
  Json trails = Json::array();
  for (const Trail& trail : input.report.trails) trails.push_back(TrailJson(input, trail));
  Json root = {{"schema", 1},
               {"streamsan", {{"version", STREAMSAN_VERSION}}},
               {"program", ProgramJson(input.report)},
               {"coverage", CoverageJson(input.report.coverage)},
               {"hazards", hazards},
               {"advice", advice},
               {"running", running},
               {"trails", trails},
               {"trials", TrialsJson(input.report.trials)},
               {"stats", StatsJson(input.report.stats)},
               {"hidden", HiddenJson(input.selection)}};
  // Names come from the watched program and may be any bytes.
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ss
