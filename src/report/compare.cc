#include "src/report/compare.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "src/report/coverage.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;

std::string SiteText(const std::string& name, const std::string& lane) {
  return fmt::format("{} ({})", KernelText(name), lane);
}

std::string Described(const Finding& finding) {
  return fmt::format("{}, {}: {}, {} then {}", finding.code, Name(finding.confidence),
                     finding.buffer.name, SiteText(finding.first.name, LaneText(finding.first)),
                     SiteText(finding.second.name, LaneText(finding.second)));
}

class Text {
 public:
  template <typename... T>
  void Line(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
    out_ += '\n';
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

Json Described(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"code", finding.code},
                    {"confidence", Name(finding.confidence)},
                    {"count", finding.count},
                    {"buffer", finding.buffer.name},
                    {"text", Described(finding)}});
  }
  return list;
}

std::string Dumped(const Json& root) {
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string PrintWhatIf(const WhatIf& result, const Report& report) {
  Text out;
  for (const std::string& change : result.changes) out.Line("  {}", change);
  const size_t before = result.gone.size() + result.stay.size(),
               after = result.fresh.size() + result.stay.size();
  out.Line("{} -> {}", Counted(before, "hazard"), after);
  for (const Finding& finding : result.gone) out.Line("  gone  {}", Described(finding));
  for (const Finding& finding : result.fresh) out.Line("  new   {}", Described(finding));
  for (const Finding& finding : result.stay) out.Line("  stays {}", Described(finding));
  out.Line("Critical path: {} -> {} operations", result.path_before, result.path_after);
  out.Line("Coverage: {}", CoverageText(report));
  for (const std::string& gap : GapLines(report.coverage)) out.Line("  {}", gap);
  return out.Take();
}

std::string PrintWhatIfJson(const WhatIf& result, const Report& report) {
  return Dumped(
      {{"schema", 1},
       {"changes", result.changes},
       {"gone", Described(result.gone)},
       {"new", Described(result.fresh)},
       {"stay", Described(result.stay)},
       {"critical_path", {result.path_before, result.path_after}},
       {"coverage",
        {{"complete", report.coverage.complete}, {"percent", CoveragePercent(report.coverage)}}}});
}

DiffSide SideOf(const std::string& name, const Report& report, const Selection& selection) {
  DiffSide side;
  side.name = name;
  for (const Selection::Hazard& hazard : selection.hazards) {
    DiffSide::Hazard& one = side.hazards[hazard.id];
    one.text = Described(*hazard.finding);
    one.confidence = Name(hazard.confidence);
    one.count += hazard.finding->count;
  }
  side.coverage = CoverageText(report);
  side.complete = report.coverage.complete;
  return side;
}

Result<DiffSide> ParseDiffSide(std::string_view text, const std::string& file) {
  const Json root = Json::parse(text, nullptr, false);
  auto fail = [&] {
    return Fail(file, "is no report of streamsan",
                "diff takes traces, litmus files and --format json reports");
  };
  if (!root.is_object() || !root.contains("hazards") || !root["hazards"].is_array()) return fail();
  DiffSide side;
  side.name = file;
  try {
    for (const Json& hazard : root["hazards"]) {
      DiffSide::Hazard& one = side.hazards[hazard.at("id").get<std::string>()];
      one.confidence = hazard.at("confidence").get<std::string>();
      one.count += hazard.at("count").get<uint64_t>();
      auto site = [&](const char* key) {
        const Json& at = hazard.at(key);
        return at.is_null()
                   ? std::string("?")
                   : SiteText(at.at("name").get<std::string>(), at.at("lane").get<std::string>());
      };
      one.text = fmt::format("{}, {}: {}, {} then {}", hazard.at("code").get<std::string>(),
                             one.confidence, hazard.at("buffer").at("name").get<std::string>(),
                             site("first"), site("second"));
    }
    side.complete = root.at("coverage").at("complete").get<bool>();
    side.coverage = fmt::format("{}%{}", root.at("coverage").value("percent", 0),
                                side.complete ? "" : ", INCOMPLETE");
  } catch (const Json::exception&) {
    return fail();
  }
  return side;
}

uint64_t NewHazardsOf(const DiffSide& before, const DiffSide& after) {
  uint64_t count = 0;
  for (const auto& [id, hazard] : after.hazards) count += before.hazards.count(id) == 0;
  return count;
}

std::string PrintDiff(const DiffSide& before, const DiffSide& after) {
  Text out;
  for (const auto& [id, hazard] : before.hazards) {
    if (after.hazards.count(id) == 0) out.Line("gone     {}  {}", id, hazard.text);
  }
  for (const auto& [id, hazard] : after.hazards) {
    auto known = before.hazards.find(id);
    if (known == before.hazards.end()) {
      out.Line("new      {}  {}", id, hazard.text);
    } else if (known->second.count != hazard.count ||
               known->second.confidence != hazard.confidence) {
      out.Line("changed  {}  {}: {} times, {} -> {} times, {}", id, hazard.text,
               known->second.count, known->second.confidence, hazard.count, hazard.confidence);
    } else {
      out.Line("both     {}  {}", id, hazard.text);
    }
  }
  if (before.has_waits && after.has_waits) {
    for (const auto& [wait, times] : before.waits) {
      auto now = after.waits.find(wait);
      if (now == after.waits.end()) out.Line("wait -   {}  ({} times)", wait, times);
      if (now != after.waits.end() && now->second != times)
        out.Line("wait     {}  ({} -> {} times)", wait, times, now->second);
    }
    for (const auto& [wait, times] : after.waits) {
      if (before.waits.count(wait) == 0) out.Line("wait +   {}  ({} times)", wait, times);
    }
  } else {
    out.Line("waits were not compared: a JSON report does not hold them");
  }
  out.Line("{} -> {}, {} new", Counted(before.hazards.size(), "hazard"), after.hazards.size(),
           NewHazardsOf(before, after));
  out.Line("Coverage of {}: {}", before.name, before.coverage);
  out.Line("Coverage of {}: {}", after.name, after.coverage);
  return out.Take();
}

std::string PrintDiffJson(const DiffSide& before, const DiffSide& after) {
  Json gone = Json::array(), fresh = Json::array(), both = Json::array(), removed = Json::array(),
       added = Json::array();
  auto one = [](const std::string& id, const DiffSide::Hazard& hazard) {
    return Json{{"id", id},
                {"text", hazard.text},
                {"confidence", hazard.confidence},
                {"count", hazard.count}};
  };
  for (const auto& [id, hazard] : before.hazards) {
    if (after.hazards.count(id) == 0) gone.push_back(one(id, hazard));
  }
  for (const auto& [id, hazard] : after.hazards) {
    (before.hazards.count(id) != 0 ? both : fresh).push_back(one(id, hazard));
  }
  const bool waits = before.has_waits && after.has_waits;
  for (const auto& [wait, times] : before.waits) {
    if (waits && after.waits.count(wait) == 0)
      removed.push_back({{"text", wait}, {"count", times}});
  }
  for (const auto& [wait, times] : after.waits) {
    if (waits && before.waits.count(wait) == 0) added.push_back({{"text", wait}, {"count", times}});
  }
  auto side = [](const DiffSide& of) {
    return Json{{"name", of.name}, {"coverage", of.coverage}, {"complete", of.complete}};
  };
  return Dumped({{"schema", 1},
                 {"before", side(before)},
                 {"after", side(after)},
                 {"gone", gone},
                 {"new", fresh},
                 {"both", both},
                 {"waits_compared", waits},
                 {"waits_removed", removed},
                 {"waits_added", added}});
}

}  // namespace ss
