#include "src/report/sarif.h"

#include <fmt/format.h>

#include <map>

#include "src/report/coverage.h"
#include "src/report/json_parts.h"
#include "src/report/rows.h"
#include "src/report/story.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;

// A file's name as a URI reference: what must not stand in one is percent-encoded.
std::string UriOf(const std::string& path) {
  std::string uri = !path.empty() && path[0] == '/' ? "file://" : "";
  for (unsigned char c : path) {
    const bool plain = std::isalnum(c) || std::string_view("/-._~+").find(static_cast<char>(c)) !=
                                              std::string_view::npos;
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri;
}

Json Text(const std::string& text) { return {{"text", text}}; }

class Printer {
 public:
  explicit Printer(const PrintInput& input) : input_(input) {}

  std::string Print() {
    for (const auto& hazard : input_.selection.hazards) Hazard(hazard);
    for (const Advice* advice : input_.selection.advice) AddAdvice(*advice);
    Json driver = {{"name", "StreamSan"}, {"version", STREAMSAN_VERSION}, {"rules", rules_}};
    Json run = {{"tool", {{"driver", driver}}},
                {"invocations", Json::array({Invocation()})},
                {"results", results_},
                {"columnKind", "unicodeCodePoints"}};
    Json root = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs", Json::array({run})}};
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  // What was not seen is said as notifications: a viewer that shows no result must not mean
  // "clean".
  Json Invocation() const {
    Json notes = Json::array();
    const Coverage& coverage = input_.report.coverage;
    auto note = [&](const std::string& text, bool warning) {
      notes.push_back({{"level", warning ? "warning" : "note"}, {"message", Text(text)}});
    };
    note("Coverage: " + CoverageText(input_.report), !coverage.complete);
    for (const std::string& gap : GapLines(coverage)) note(gap, !coverage.complete);
    return {{"executionSuccessful", true},
            {"commandLine", input_.report.program},
            {"toolExecutionNotifications", notes}};
  }

  size_t Rule(const std::string& code, const char* level) {
    auto [at, fresh] = rule_of_.try_emplace(code, rules_.size());
    if (fresh) {
      rules_.push_back({{"id", code},
                        {"shortDescription", Text(CodeText(code))},
                        {"defaultConfiguration", {{"level", level}}}});
    }
    return at->second;
  }

  void Hazard(const Selection::Hazard& hazard) {
    const Finding& finding = *hazard.finding;
    const char* level = finding.severity == Severity::kError ? "error" : "warning";
    static constexpr double kRank[] = {30, 70, 100};  // possible, likely, certain
    Json result = {{"ruleId", finding.code},
                   {"ruleIndex", Rule(finding.code, level)},
                   {"level", level},
                   {"message", Text(Message(finding))},
                   {"locations", Json::array({Location(finding, Primary(finding))})},
                   {"partialFingerprints", {{kSarifFingerprint, hazard.id}}},
                   {"occurrenceCount", finding.count},
                   {"rank", kRank[static_cast<size_t>(hazard.confidence)]}};
    Json related = Json::array(), stacks = Json::array(), steps = Json::array();
    for (const Row& row : RowsOf(input_, finding)) {
      Json location = Location(finding, *row.site);
      location["id"] = related.size() + 1;
      location["message"] =
          Text(fmt::format("{}: {} {} on {} {}", row.role, row.op, row.name, row.lane, row.access));
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
    results_.push_back(std::move(result));
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
    return text;
  }

  Json Physical(const std::string& file, uint32_t line) const {
    Json place = {{"artifactLocation", {{"uri", UriOf(file)}}}};
    if (line != 0) place["region"] = {{"startLine", line}};
    return place;
  }

  // A line of a litmus file, or the program's frame of the call stack; machine code without lines
  // is a logical location.
  Json Location(const Finding& finding, const Site& site) const {
    if (site.line != 0) {
      const std::string& file = finding.source.empty() ? input_.report.program : finding.source;
      return {{"physicalLocation", Physical(file, site.line)}};
    }
    const Frame* frame = SiteOf(input_.symbols.Frames(site.stack));
    if (frame == nullptr) return {{"logicalLocations", Json::array({Logical(site.name)})}};
    return FrameLocation(*frame);
  }

  static Json Logical(const std::string& name) {
    return {{"fullyQualifiedName", name}, {"kind", "function"}};
  }

  Json FrameLocation(const Frame& frame) const {
    Json location = Json::object();
    if (!frame.file.empty()) location["physicalLocation"] = Physical(frame.file, frame.line);
    const std::string name = frame.fn.empty() ? ShortText(frame) : frame.fn;
    if (!name.empty()) location["logicalLocations"] = Json::array({Logical(name)});
    return location;
  }

  Json Stack(const Row& row) const {
    Json frames = Json::array();
    for (const Frame& frame : input_.symbols.Frames(row.site->stack)) {
      frames.push_back({{"location", FrameLocation(frame)}});
    }
    return {
        {"message", Text(fmt::format("{} {} was issued by {}", row.role, row.op, row.site->host))},
        {"frames", frames}};
  }

  Json Step(const Finding& finding, const Site& site, size_t number) const {
    Json location = Location(finding, site);
    location["message"] =
        Text(fmt::format("op {} {} on {}", site.op, KernelText(site.name), LaneText(site)));
    return {{"location", location}, {"executionOrder", number + 1}};
  }

  void AddAdvice(const Advice& advice) {
    Json result = {{"ruleId", advice.code},
                   {"ruleIndex", Rule(advice.code, "note")},
                   {"level", "note"},
                   {"message", Text(fmt::format("{}: {}", advice.subject, advice.text))},
                   {"occurrenceCount", std::max<uint64_t>(advice.count, 1)}};
    Finding from;
    from.source = advice.source;
    result["locations"] = Json::array({Location(from, advice.site)});
    results_.push_back(std::move(result));
  }

  const PrintInput& input_;
  Json rules_ = Json::array(), results_ = Json::array();
  std::map<std::string, size_t> rule_of_;
};

}  // namespace

std::string PrintSarif(const PrintInput& input) { return Printer(input).Print(); }

}  // namespace ss
