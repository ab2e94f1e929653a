#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/report/coverage.h"
#include "src/report/lines.h"
#include "src/report/print.h"
#include "src/report/rows.h"
#include "src/report/timeline.h"
#include "src/report/words.h"

namespace ss {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kTimelineWidth = 124;  // a picture may be wider than prose: it does not wrap
constexpr size_t kStackFrames = 8;      // per stack; JSON has them all

// One PrintText call: appends to `out_`.
class TextPrinter : private Lines {
 public:
  TextPrinter(const PrintInput& input, const PrintOptions& options)
      : input_(input), options_(options) {}

  std::string Print() {
    size_t shown = std::min<size_t>(options_.print_limit, input_.selection.hazards.size());
    for (size_t i = 0; i < shown; ++i) Hazard(input_.selection.hazards[i]);
    for (const Advice* advice : input_.selection.advice) AdviceLine(*advice);
    RunningLines();
    TrialLines();
    Summary(input_.selection.hazards.size() - shown);
    return std::move(out_);
  }

 private:
  std::string Paint(const char* code, const std::string& text) const {
    return options_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  std::string Prefix() const {
    return input_.report.pid ? fmt::format("=={}== StreamSan:", input_.report.pid) : "StreamSan:";
  }

  // Among several processes the lanes say whose it is; the report's number is only one's.
  std::string PrefixOf(const Site& site) const {
    return site.among_ranks ? "StreamSan:" : Prefix();
  }

  std::string Subject(const Finding& finding) const {
    const BufferRef& buffer = finding.buffer;
    std::string text = fmt::format("Block {} ({}", buffer.name, BytesText(buffer.bytes));
    std::string place = PlaceText(input_, finding.source, buffer.alloc_stack, buffer.alloc_line);
    if (!place.empty()) text += ", allocated at " + place;
    if (!buffer.owner.empty()) text += ", owner " + buffer.owner;
    return text + ")";
  }

  void Paragraph(const std::string& text) {
    for (const std::string& line : Wrap(text, kWidth - 2)) Line("  {}", line);
  }

  void Labelled(const char* label, const std::string& text) {
    const char* shown = label;
    for (const std::string& line : Wrap(text, kWidth - 8)) {
      Line("  {:<5} {}", shown, line);
      shown = "";
    }
  }

  void Table(const std::vector<Row>& rows) {
    auto width = [&](std::string Row::*column) {
      size_t most = 0;
      for (const Row& row : rows) most = std::max(most, (row.*column).size());
      return most;
    };
    for (const Row& row : rows) {
      Line("    {:<{}}  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}", row.role, width(&Row::role), row.op,
           width(&Row::op), row.name, width(&Row::name), row.lane, width(&Row::lane), row.access,
           width(&Row::access), row.place);
    }
    Line("");
  }

  void Timeline(const Finding& finding) {
    std::vector<std::string> lines = DrawTimeline(finding, kTimelineWidth);
    for (std::string& line : lines) {
      size_t mark = line.find(" ? ");
      if (mark != std::string::npos) {
        line = line.substr(0, mark + 1) + Paint("1;33", "?") + line.substr(mark + 2) +
               "   ? = the missing edge";
      }
      Line("    {}", line);
    }
    if (!lines.empty()) Line("");
  }

  void Stacks(const std::vector<Row>& rows) {
    size_t before = out_.size();
    for (const Row& row : rows) {
      for (const std::string& line : StackLines(input_, row, kStackFrames)) Line("    {}", line);
    }
    if (out_.size() != before) Line("");
  }

  void Fixes(const Finding& finding) {
    const char* label = "Fix";
    for (const Fix& fix : finding.fixes) {
      if (!fix.verified) continue;  // a fix that was not verified is not one
      std::string gone = fix.alike ? fmt::format("gone with {} alike", fix.alike) : "gone";
      std::string cost = fix.cost.empty() ? "" : ", " + fix.cost;
      Line("  {:<5} {:<48} {}", label, FixText(fix),
           Paint("32", fmt::format("verified: {}, nothing new{}", gone, cost)));
      label = "  or";
    }
    if (label != std::string("Fix")) return;
    if (!finding.change.empty()) return Labelled(label, ChangeText(finding));
    if (!IsCollective(finding)) Line("  Fix   none that passed verification");
  }

  // Where the program made the calls that the cause names: " [op 17: step.py:210]".
  std::string WhyPlaces(const Finding& finding, const std::vector<Row>& rows) {
    std::string places;
    std::set<OpId> told;
    for (const Row& row : rows) told.insert(row.site->op);
    for (const Site& site : finding.evidence_sites) {
      if (site.stack == 0 || !told.insert(site.op).second) continue;
      const std::string place = PlaceText(input_, finding.source, site.stack, 0);
      if (!place.empty()) {
        places += fmt::format("{}op {}: {}", places.empty() ? "[" : ", ", site.op, place);
      }
    }
    return places.empty() ? places : places + "]";
  }

  void Hazard(const Selection::Hazard& hazard) {
    const Finding& finding = *hazard.finding;
    bool error = finding.severity == Severity::kError;
    std::string times = finding.count > 1 ? fmt::format("  ({} times)", finding.count) : "";
    std::string head = fmt::format("{}  {}, {}  {}", finding.code, error ? "error" : "warning",
                                   Name(hazard.confidence), hazard.alias);
    Line("{} {}{}", PrefixOf(finding.second), Paint(error ? "1;31" : "1;33", head), times);
    Paragraph(WrongText(finding, Subject(finding)));
    Line("");
    std::vector<Row> rows = RowsOf(input_, finding);
    Table(rows);
    Timeline(finding);
    Stacks(rows);
    if (std::string why = WhyText(finding); !why.empty()) {
      Labelled("Why", why);
      if (std::string places = WhyPlaces(finding, rows); !places.empty())
        Line("        {}", places);
    }
    Fixes(finding);
    Labelled("Basis", BasisText(finding));
    Line("");
  }

  void AdviceLine(const Advice& advice) {
    std::string times = advice.count > 1 ? fmt::format("  ({} times)", advice.count) : "";
    std::string place = PlaceText(input_, advice.source, advice.site.stack, advice.site.line);
    const Site& site = advice.site;
    const std::string rank = site.among_ranks ? fmt::format("rank{} ", site.rank) : "";
    Line("{} advice {}  {}{}{}", PrefixOf(site), advice.code, rank, advice.subject, times);
    Paragraph(place.empty() ? advice.text : fmt::format("{} [{}]", advice.text, place));
    Line("");
  }

  void Hidden(size_t cut) {
    const Selection& selection = input_.selection;
    if (cut) Line("  {} not printed (--print-limit).", Counted(cut, "hazard"));
    if (selection.below_confidence) {
      Line("  {} less certain: --min-confidence possible shows them.",
           Counted(selection.below_confidence, "more hazard"));
    }
    if (selection.suppressed + selection.suppressed_advice) {
      Line("  {} and {} advice suppressed.", Counted(selection.suppressed, "hazard"),
           selection.suppressed_advice);
    }
    if (selection.known) Line("  {} known from the baseline.", Counted(selection.known, "hazard"));
    if (!selection.baseline_gone.empty()) {
      Line("  {} of the baseline did not show up.",
           Counted(selection.baseline_gone.size(), "hazard"));
    }
    for (const Suppression& line : selection.suppressions) {
      if (!line.matched) Line("  unused suppression {}: {}:{}", line.place, line.code, line.glob);
    }
  }

  // What it hung in is mostly among these.
  void RunningLines() {
    TrailLines();
    std::vector<const Site*> left;
    for (const Site& site : input_.report.running) {
      if (!HasTrail(site)) left.push_back(&site);
    }
    if (left.empty()) return;
    Line("{} the program did not come to its end. Last on each stream, and not seen to be over:",
         Prefix());
    for (const Site* site : left) Line("  {}  {}", Lane(*site), Operation(*site));
    Line("");
  }

  // How far each stream had come, by its breadcrumbs.
  void TrailLines() {
    if (input_.report.trails.empty()) return;
    Line("{} the program did not come to its end. How far each stream had come:", Prefix());
    for (const Trail& trail : input_.report.trails) {
      const bool any = trail.finished.op != 0, more = trail.next.op != 0;
      Line("  {}", Lane(any ? trail.finished : trail.next));
      Line("    finished      {}", any ? Operation(trail.finished) : "nothing");
      Line("    not finished  {}", more ? Operation(trail.next) : "nothing: all was done");
      if (trail.behind) Line("                  and {} behind it", trail.behind);
    }
    Line("");
  }

  bool HasTrail(const Site& site) const {
    const auto same = [&](const Site& other) {
      return other.op != 0 && other.stream == site.stream && other.rank == site.rank;
    };
    return std::any_of(
        input_.report.trails.begin(), input_.report.trails.end(),
        [&](const Trail& trail) { return same(trail.finished) || same(trail.next); });
  }

  // With its rank, where there are several.
  std::string Lane(const Site& site) const {
    const auto& running = input_.report.running;
    const auto& trails = input_.report.trails;
    const bool ranks = std::ranges::any_of(running, &Site::among_ranks) ||
                       std::ranges::any_of(trails, [](const Trail& trail) {
                         return trail.finished.among_ranks || trail.next.among_ranks;
                       });
    return ranks ? fmt::format("rank {} {}", site.rank, site.lane) : site.lane;
  }

  std::string Operation(const Site& site) const {
    return fmt::format("op {}  {}  {}", site.op, site.name,
                       PlaceText(input_, "", site.stack, site.line));
  }

  void TrialLines() {
    for (const Trial& trial : input_.report.trials) {
      Line("{} trial{}{}", Prefix(), trial.id.empty() ? "" : " of ", trial.id);
      for (const std::string& line : Wrap(TrialText(trial), 96)) Line("  {}", line);
    }
    if (!input_.report.trials.empty()) Line("");
  }

  // "0 hazards" is a claim about all that ran: it is only made when all was seen.
  void Summary(size_t cut) {
    const Coverage& coverage = input_.report.coverage;
    size_t hazards = input_.selection.hazards.size();
    std::string found =
        hazards || coverage.complete ? Counted(hazards, "hazard") : "no hazard in what was seen";
    Line("{} {}, {} advice.  Coverage: {}", Prefix(), found, input_.selection.advice.size(),
         CoverageText(input_.report));
    for (const std::string& gap : GapLines(coverage)) Line("  {}", gap);
    Hidden(cut);
  }

  const PrintInput& input_;
  const PrintOptions& options_;
};

}  // namespace

std::string PrintText(const PrintInput& input, const PrintOptions& options) {
  return TextPrinter(input, options).Print();
}

}  // namespace ss
