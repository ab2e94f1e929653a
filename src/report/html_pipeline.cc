#include <fmt/format.h>

#include "src/pipeline/picture.h"
#include "src/report/html.h"
#include "src/report/page_parts.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;
using pipeline::Finding;
using pipeline::PictureRow;

// The witness schedule as the same kind of picture: a lane a role, a step an operation.
Json Columns(const pipeline::Picture& picture) {
  Json lanes = Json::array();
  for (const std::string& lane : picture.lanes) lanes.push_back({lane, "role", 0});
  std::vector<uint64_t> ids;
  std::vector<uint32_t> lane, kind, name, place, touch;
  std::vector<std::string> names = {""}, notes;
  for (const PictureRow& row : picture.rows) {
    ids.push_back(row.number);
    lane.push_back(row.lane);
    kind.push_back(row.number ? 0 : 1);
    name.push_back(static_cast<uint32_t>(names.size()));
    names.push_back(row.text);
    place.push_back(static_cast<uint32_t>(names.size()));
    names.push_back(fmt::format("line {}", row.line));
    touch.push_back(0);
    notes.push_back(row.note);
  }
  std::vector<uint64_t> edges;
  for (const pipeline::PictureEdge& edge : picture.edges)
    edges.insert(edges.end(), {edge.arrival, edge.wait});
  return {{"lanes", lanes},
          {"names", names},
          {"ops",
           {{"id", ids},
            {"lane", lane},
            {"kind", kind},
            {"name", name},
            {"place", place},
            {"touch", touch},
            {"note", notes}}},
          {"touch", Json::array()},
          {"edges", edges},
          {"lives", Json::array()},
          {"left_out", picture.earlier}};
}

class Printer {
 public:
  std::string Print(const std::vector<PipelineReport>& reports) {
    std::string files;
    bool all = true;
    uint64_t steps = 0;
    for (const PipelineReport& report : reports) {
      const std::string& title = report.program.protocol->title;
      files += (files.empty() ? "" : ", ") + (title.empty() ? report.file : title);
      all = all && report.verdict.exhaustive;
      steps += report.verdict.steps;
      for (size_t i = 0; i < report.verdict.findings.size(); ++i) {
        if (!report.verdict.findings[i].absorbed) Hazard(report, i);
      }
    }
    page_.title =
        fmt::format("StreamSan: {} in {}", Counted(page_.hazards.size(), "hazard"), files);
    page_.coverage = all ? fmt::format("Coverage: every schedule of {} steps", steps)
                         : "Coverage: INCOMPLETE, the search was cut off (--states N takes more)";
    page_.legend =
        "Left to right are the steps of one schedule that was run and that leads to the hazard; "
        "red is "
        "what stands at its end. Arrows: from the arrival that completed a phase to a wait for it.";
    page_.data = {{"schema", 1},
                  {"kinds", {"step", "stuck"}},
                  {"pictures", pictures_},
                  {"hazards", hazards_}};
    return PrintPage(page_);
  }

 private:
  void Hazard(const PipelineReport& report, size_t index) {
    const Finding& finding = report.verdict.findings[index];
    const Finding& scheduled = Scheduled(report, finding);
    const pipeline::Picture picture = MakePicture(report.program, scheduled, kRows);
    PageHazard shown;
    shown.alias = fmt::format("H{}", page_.hazards.size() + 1);
    shown.code = finding.code;
    shown.label = finding.subject;
    shown.sure = finding.certain ? "error, certain" : "error, possible";
    shown.wrong = finding.text;
    shown.answers = Answers(report, index, picture.connection, scheduled);
    if (&scheduled != &finding) {
      shown.wrong += fmt::format(" Below: a schedule in which {} does not get on.", finding.role);
    }
    if (picture.rows.empty()) {
      shown.more.emplace_back(
          "Schedule", std::vector<std::string>{"No schedule is needed: it is wrong in all."});
    } else {
      std::vector<std::string> lines;
      for (const PictureRow& row : picture.rows) {
        lines.push_back(fmt::format("{} {}: {} ({}, line {})",
                                    row.number ? fmt::format("step {}", row.number) : "end,",
                                    picture.lanes[row.lane], row.text, row.note, row.line));
      }
      shown.more.emplace_back("The schedule in words", lines);
    }
    page_.hazards.push_back(std::move(shown));
    std::vector<size_t> focus, keys, lanes;
    for (size_t i = 0; i < picture.rows.size(); ++i) {
      focus.push_back(i);
      if (picture.rows[i].number == 0) keys.push_back(i);
    }
    for (size_t i = 0; i < picture.lanes.size(); ++i) lanes.push_back(i);
    hazards_.push_back({{"alias", page_.hazards.back().alias},
                        {"picture", pictures_.size()},
                        {"life", -1},
                        {"keys", keys},
                        {"focus", focus},
                        {"lanes", lanes},
                        {"edge", nullptr}});
    pictures_.push_back(Columns(picture));
  }

  // What is wrong in every schedule has none; one that hangs because of the same role shows it
  // best.
  static const Finding& Scheduled(const PipelineReport& report, const Finding& finding) {
    if (finding.scheduled) return finding;
    for (const Finding& other : report.verdict.findings) {
      if (other.scheduled && !other.absorbed && other.role == finding.role) return other;
    }
    return finding;
  }

  // " calls tail o_store": what stands at the finding's line of its role.
  static std::string CallText(const PipelineReport& report, const Finding& finding) {
    for (const pipeline::Role& role : report.program.protocol->roles) {
      if (role.name != finding.role) continue;
      for (const pipeline::Op& op : role.ops) {
        if (op.line == finding.line && op.column == finding.column)
          return " calls " + pipeline::Text(*report.program.protocol, op);
      }
    }
    return "";
  }

  static std::string Place(const PipelineReport& report, uint32_t line) {
    return fmt::format("{}:{}", report.file.substr(report.file.rfind('/') + 1), line);
  }

  static std::string SideText(const PipelineReport& report, const std::string& pipe_name,
                              bool producers) {
    for (const pipeline::Pipe& pipe : report.program.protocol->pipes) {
      if (pipe.name != pipe_name) continue;
      std::string names;
      for (uint32_t role : (producers ? pipe.producers : pipe.consumers).roles) {
        names += (names.empty() ? "" : ", ") + report.program.protocol->roles[role].name;
      }
      return names;
    }
    return "";
  }

  static std::vector<Answer> Answers(const PipelineReport& report, size_t index,
                                     std::string connection, const Finding& scheduled) {
    const Finding& finding = report.verdict.findings[index];
    std::vector<Answer> answers;
    if (size_t gap = connection.find("   "); gap != std::string::npos)
      connection.replace(gap, 3, ", ");
    const std::string writers = SideText(report, finding.subject, true),
                      readers = SideText(report, finding.subject, false);
    if (connection.empty()) {
      answers.push_back({"Which barrier", finding.subject});
    } else {
      answers.push_back({"Which pipeline", finding.subject + ": " + connection});
    }
    if (!writers.empty()) {
      answers.push_back({"Who writes it",
                         fmt::format("{}, its declared producer; {} reads it", writers, readers)});
    }
    std::string who = fmt::format("{}{} ({})", finding.role, CallText(report, finding),
                                  Place(report, finding.line));
    if (!finding.other.empty())
      who += fmt::format(" and {} ({})", finding.other, Place(report, finding.other_line));
    const bool stranger = finding.code == "pipeline-owner",
               stuck = finding.code == "pipeline-deadlock";
    answers.push_back({stranger ? "Who touches it without owning it"
                       : stuck  ? "Who never gets on"
                                : "Who touches it too early",
                       who, true});
    answers.push_back({"Which edge is missing", EdgeText(report, scheduled)});
    answers.push_back({"What to change", ChangeText(report, index)});
    return answers;
  }

  static std::string EdgeText(const PipelineReport& report, const Finding& finding) {
    if (!finding.stuck.empty()) {
      const pipeline::StuckAgent& stuck = finding.stuck.front();
      return fmt::format(
          "the arrival that would complete phase {} of {}: {} waits there with parity {}, {} "
          "phases "
          "are complete, and nobody is left to arrive",
          stuck.complete + 1, report.program.BarrierName(report.program.barriers[stuck.barrier]),
          finding.role, (stuck.need + 1) % 2, stuck.complete);
    }
    if (finding.code == "pipeline-owner") {
      return fmt::format(
          "any between {}'s state and the barriers of {}: they count the phases of the owners "
          "alone",
          finding.role, finding.subject);
    }
    if (finding.code == "pipeline-race")
      return fmt::format("{} -> {} on {}", finding.role, finding.other, finding.subject);
    return fmt::format("a barrier that holds {} until the phase that it needs", finding.role);
  }

  static std::string ChangeText(const PipelineReport& report, size_t index) {
    if (index >= report.fixes.size() || report.fixes[index].empty())
      return "no deletion that was tried makes every schedule safe";
    const PipelineFix& fix = report.fixes[index][0];
    return fmt::format("{} (verified for every schedule: gone{}, nothing new)", fix.text,
                       fix.gone ? fmt::format(" with {} more", fix.gone) : "");
  }

  static constexpr size_t kRows = 60;

  Page page_;
  Json pictures_ = Json::array(), hazards_ = Json::array();
};

}  // namespace

std::string PrintPipelineHtml(const std::vector<PipelineReport>& reports) {
  return Printer().Print(reports);
}

}  // namespace ss
