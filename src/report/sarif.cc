#include "src/report/sarif.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/coverage.h"
#include "src/report/rows.h"
#include "src/report/sarif_log.h"
#include "src/report/story.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = SarifLog::Json;

class Printer {
 public:
  explicit Printer(const PrintInput& input) : input_(input) {}

  std::string Print() {
    for (const auto& hazard : input_.selection.hazards) Hazard(hazard);
    for (const Advice* advice : input_.selection.advice) AddAdvice(*advice);
    const Coverage& coverage = input_.report.coverage;
    log_.Note("Coverage: " + CoverageText(input_.report), !coverage.complete);
    for (const std::string& gap : GapLines(coverage)) log_.Note(gap, !coverage.complete);
    return log_.Print(input_.report.program);
  }

 private:
  void Hazard(const Selection::Hazard& hazard) {
    const Finding& finding = *hazard.finding;
    const char* level = finding.severity == Severity::kError ? "error" : "warning";
    Json result = log_.Result(finding.code, level, Message(finding));
    result["locations"] = Json::array({Location(finding, Primary(finding))});
    result["partialFingerprints"] = {{kSarifFingerprint, hazard.id}};
    result["occurrenceCount"] = finding.count;
    result["rank"] = SarifRank(hazard.confidence);
    Json related = Json::array(), stacks = Json::array(), steps = Json::array();
    for (const Row& row : RowsOf(input_, finding)) {
      Json location = Location(finding, *row.site);
      location["id"] = related.size() + 1;
      location["message"] = SarifLog::Text(
          fmt::format("{}: {} {} on {} {}", row.role, row.op, row.name, row.lane, row.access));
      related.push_back(location);
      if (row.site->stack != 0) stacks.push_back(Stack(row));
    }
    for (const Site& site : finding.timeline) steps.push_back(Step(finding, site, steps.size()));
    result["relatedLocations"] = related;
    if (!stacks.empty()) result["stacks"] = stacks;
    if (!steps.empty()) {
      result["codeFlows"] = Json::array({{{"threadFlows", Json::array({{{"locations", steps}}})}}});
    }
    result["properties"] = {{"alias", hazard.alias},
                            {"confidence", Name(hazard.confidence)},
                            {"buffer", finding.buffer.name},
                            {"struck", finding.struck}};
    log_.Add(std::move(result));
  }

  // Where a reader starts: at the one that comes too early.
  static const Site& Primary(const Finding& finding) {
    if (finding.code == "lifetime" && finding.second.op != 0) return finding.second;
    return finding.second.op != 0 ? finding.second : finding.first;
  }

  std::string Message(const Finding& finding) const {
    std::string text = WrongText(finding, "Block " + finding.buffer.name);
    if (std::string why = WhyText(finding); !why.empty()) text += " Why: " + why;
    for (const Fix& fix : finding.fixes) {
      if (!fix.verified) continue;
      return text + fmt::format(" Fix: {} ({}).", FixText(fix), VerifiedText(fix));
    }
    if (!finding.change.empty()) text += fmt::format(" Fix: {}.", ChangeText(finding));
    return text;
  }

  // A line of a litmus file, or the program's frame of the call stack; machine code without lines
  // is a logical location.
  Json Location(const Finding& finding, const Site& site) const {
    if (site.line != 0) {
      const std::string& file = finding.source.empty() ? input_.report.program : finding.source;
      return {{"physicalLocation", SarifLog::Physical(file, site.line)}};
    }
    const Frame* frame = SiteOf(input_.symbols.Frames(site.stack));
    if (frame == nullptr)
      return {{"logicalLocations", Json::array({SarifLog::Logical(site.name)})}};
    return FrameLocation(*frame);
  }

  Json FrameLocation(const Frame& frame) const {
    Json location = Json::object();
    if (!frame.file.empty())
      location["physicalLocation"] = SarifLog::Physical(frame.file, frame.line);
    const std::string name = frame.fn.empty() ? ShortText(frame) : frame.fn;
    if (!name.empty()) location["logicalLocations"] = Json::array({SarifLog::Logical(name)});
    return location;
  }

  Json Stack(const Row& row) const {
    Json frames = Json::array();
    for (const Frame& frame : input_.symbols.Frames(row.site->stack)) {
      frames.push_back({{"location", FrameLocation(frame)}});
    }
    return {{"message", SarifLog::Text(fmt::format("{} {} was issued by {}", row.role, row.op,
                                                   row.site->host))},
            {"frames", frames}};
  }

  Json Step(const Finding& finding, const Site& site, size_t number) const {
    Json location = Location(finding, site);
    location["message"] = SarifLog::Text(
        fmt::format("op {} {} on {}", site.op, KernelText(site.name), LaneText(site)));
    return {{"location", location}, {"executionOrder", number + 1}};
  }

  void AddAdvice(const Advice& advice) {
    Json result = log_.Result(advice.code, "note", advice.subject + ": " + advice.text);
    result["occurrenceCount"] = std::max<uint64_t>(advice.count, 1);
    Finding from;
    from.source = advice.source;
    result["locations"] = Json::array({Location(from, advice.site)});
    log_.Add(std::move(result));
  }

  const PrintInput& input_;
  SarifLog log_;
};

}  // namespace

std::string PrintSarif(const PrintInput& input) { return Printer(input).Print(); }

}  // namespace ss
