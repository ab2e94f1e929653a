#include <fmt/format.h>

#include <algorithm>

#include "src/pipeline/picture.h"
#include "src/report/lines.h"
#include "src/report/pipeline.h"
#include "src/report/words.h"

namespace ss {
namespace {

using pipeline::Finding;
using pipeline::Picture;
using pipeline::PictureRow;

constexpr size_t kWidth = 100;
constexpr size_t kMaxLaneWidth = 24;

class Printer : private Lines {
 public:
  explicit Printer(uint64_t limit) : limit_(limit) {}

  std::string Print(const std::vector<PipelineReport>& reports) {
    for (const PipelineReport& report : reports) File(report);
    Summary(reports);
    return std::move(out_);
  }

 private:
  void File(const PipelineReport& report) {
    for (const Finding& finding : report.verdict.findings) {
      if (finding.absorbed) {
        ++absorbed_;
        continue;
      }
      const size_t at = static_cast<size_t>(&finding - report.verdict.findings.data());
      if (++hazards_ <= limit_) Hazard(report, finding, at);
    }
  }

  void Hazard(const PipelineReport& report, const Finding& finding, size_t index) {
    Line("StreamSan: {}  error, {}  H{}", finding.code, finding.certain ? "certain" : "possible",
         hazards_);
    for (const std::string& line : Wrap(finding.text, kWidth - 2)) Line("  {}", line);
    Line("");
    const Picture picture = MakePicture(report.program, finding);
    if (!picture.connection.empty()) Line("    {}: {}", finding.subject, picture.connection);
    Line("    {} at {}:{}{}", finding.role, report.file, finding.line,
         finding.other.empty()
             ? ""
             : fmt::format(", {} at {}:{}", finding.other, report.file, finding.other_line));
    Line("");
    if (!picture.rows.empty()) Schedule(picture);
    if (index >= report.fixes.size()) return;
    for (const PipelineFix& fix : report.fixes[index]) {
      Line("  Fix   {}   verified for every schedule: gone{}, nothing new", fix.text,
           fix.gone ? fmt::format(" with {} more", fix.gone) : "");
      Line("");
    }
  }

  void Schedule(const Picture& picture) {
    std::vector<size_t> widths;
    for (const std::string& lane : picture.lanes) widths.push_back(lane.size());
    for (const PictureRow& row : picture.rows)
      widths[row.lane] = std::max(widths[row.lane], std::min(row.text.size(), kMaxLaneWidth));
    std::string head = "      step";
    for (size_t i = 0; i < picture.lanes.size(); ++i)
      head += fmt::format("  {:<{}}", picture.lanes[i], widths[i]);
    Line("{}", head);
    if (picture.earlier) Line("       ...  {} earlier steps on it", picture.earlier);
    for (const PictureRow& row : picture.rows) Row(row, widths);
    Line("");
  }

  void Row(const PictureRow& row, const std::vector<size_t>& widths) {
    std::string text = fmt::format("    {:>6}", row.number ? std::to_string(row.number) : "end");
    for (size_t lane = 0; lane < widths.size(); ++lane)
      text += fmt::format("  {:<{}}", lane == row.lane ? row.text : "|", widths[lane]);
    Line("{}    {}", text, row.note);
  }

  void Summary(const std::vector<PipelineReport>& reports) {
    if (hazards_ > limit_) Line("{} more hazards not spelled out", hazards_ - limit_);
    uint64_t hidden = 0;
    for (const PipelineReport& report : reports) hidden += report.hidden;
    if (hidden)
      Line("{} suspected, neither shown nor ruled out (--min-confidence possible)", hidden);
    std::string follow = absorbed_
                             ? fmt::format(" ({} more follow{} from {})", absorbed_,
                                           absorbed_ == 1 ? "s" : "", hazards_ == 1 ? "it" : "them")
                             : "";
    Line("{} hazard{}{}.  {}", hazards_, hazards_ == 1 ? "" : "s", follow, CoverageText(reports));
  }

  const uint64_t limit_;
  uint64_t hazards_ = 0, absorbed_ = 0;
};

}  // namespace

std::string CoverageText(const std::vector<PipelineReport>& reports) {
  uint64_t steps = 0, states = 0;
  bool all = true;
  for (const PipelineReport& report : reports) {
    steps += report.verdict.steps;
    states += report.verdict.states;
    all = all && report.verdict.exhaustive;
  }
  if (!all) {
    return fmt::format(
        "Coverage: INCOMPLETE, the search ended after {} states; --states N takes more.", states);
  }
  std::string searched = states ? fmt::format(", {} states searched", states) : "";
  return fmt::format("Coverage: every schedule of {} steps{}.", steps, searched);
}

std::string PrintPipelineText(const std::vector<PipelineReport>& reports, uint64_t print_limit) {
  return Printer(print_limit).Print(reports);
}

}  // namespace ss
