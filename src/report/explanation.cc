#include "src/report/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/report/coverage.h"
#include "src/report/rows.h"
#include "src/report/story.h"
#include "src/report/words.h"

namespace ss {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kColumn = 26;
constexpr size_t kStackFrames = 5;  // per stack; JSON has them all

std::string Cut(const std::string& text) {
  return text.size() > kColumn ? text.substr(0, kColumn - 2) + ".." : text;
}

class Story {
 public:
  explicit Story(const Finding& finding) : finding_(finding), edge_(EdgeOf(finding)) {
    for (const Site& site : finding.timeline) sites_.push_back(&site);
    std::stable_sort(sites_.begin(), sites_.end(),
                     [](const Site* a, const Site* b) { return a->index < b->index; });
    for (const Site* site : sites_) Column(*site);
  }

  std::vector<std::string> Draw() {
    if (sites_.empty()) return {};
    Measure();
    std::string head = fmt::format("{:>7}", "op");
    for (size_t i = 0; i < lanes_.size(); ++i)
      head += fmt::format("  {:<{}}", lanes_[i], widths_[i]);
    rows_.push_back(head);
    for (const Site* site : sites_) {
      if (edge_.to != nullptr && site->index == edge_.to->index) Missing();
      Row(*site);
    }
    for (std::string& row : rows_) row.resize(row.find_last_not_of(' ') + 1);
    return std::move(rows_);
  }

 private:
  size_t Column(const Site& site) {
    const std::string lane = LaneText(site);
    auto at = std::find(lanes_.begin(), lanes_.end(), lane);
    if (at != lanes_.end()) return static_cast<size_t>(at - lanes_.begin());
    lanes_.push_back(lane);
    return lanes_.size() - 1;
  }

  bool Is(const Site& site, const Site& key) const {
    return key.op != 0 && site.index == key.index;
  }

  std::string Text(const Site& site) const {
    std::string name = KernelText(site.name);
    switch (site.kind) {
      case OpKind::kFree:
      case OpKind::kFreeAsync:
      case OpKind::kAlloc:
      case OpKind::kAllocAsync:
        return fmt::format("{} {}", name, finding_.buffer.name);
      default:
        return name;
    }
  }

  std::string Note(const Site& site) const {
    const bool lifetime = finding_.code == "lifetime";
    if (Is(site, finding_.reuse)) return "overwrites the same bytes";
    if (Is(site, finding_.first))
      return lifetime ? AccessText(site, finding_.buffer.name) + ", still running?"
                      : AccessText(site, finding_.buffer.name);
    if (Is(site, finding_.second))
      return lifetime ? "gives the bytes back"
                      : AccessText(site, finding_.buffer.name) + ", too early";
    if (Is(site, finding_.producer)) return "wrote what is in " + finding_.buffer.name;
    for (size_t i = 0; i < finding_.evidence_sites.size(); ++i) {
      if (Is(site, finding_.evidence_sites[i]))
        return site.kind == OpKind::kRecordStream ? "protects nothing here" : "does not cover it";
    }
    return "";
  }

  void Measure() {
    widths_.assign(lanes_.size(), 4);
    for (size_t i = 0; i < lanes_.size(); ++i) widths_[i] = std::max(widths_[i], lanes_[i].size());
    for (const Site* site : sites_) {
      size_t& width = widths_[Column(*site)];
      width = std::max(width, Cut(Text(*site)).size());
    }
  }

  void Row(const Site& site) {
    std::string row = fmt::format("{:>7}", site.op);
    const size_t own = Column(site);
    for (size_t i = 0; i < lanes_.size(); ++i)
      row += fmt::format("  {:<{}}", i == own ? Cut(Text(site)) : "|", widths_[i]);
    const std::string note = Note(site);
    rows_.push_back(note.empty() ? row : row + "  " + note);
  }

  // From the producer's column to the consumer's, whichever is further left.
  void Missing() {
    const size_t from = Column(*edge_.from), to = Column(*edge_.to);
    std::vector<size_t> starts;
    size_t x = 7;
    for (size_t width : widths_) {
      starts.push_back(x + 2);
      x += 2 + width;
    }
    std::string row(x, ' ');
    row.replace(6, 1, "?");
    for (size_t start : starts) row[start] = '|';
    const size_t low = std::min(starts[from], starts[to]),
                 high = std::max(starts[from], starts[to]);
    for (size_t i = low + 1; i < high; ++i) row[i] = (i - low) % 2 ? '-' : ' ';
    row[starts[from]] = 'o';
    row[starts[to]] = to < from ? '<' : from == to ? 'o' : '>';
    rows_.push_back(row + "  the missing edge");
  }

  const Finding& finding_;
  const MissingEdge edge_;
  std::vector<const Site*> sites_;
  std::vector<std::string> lanes_, rows_;
  std::vector<size_t> widths_;
};

class Printer {
 public:
  Printer(const PrintInput& input, const Selection::Hazard& hazard)
      : input_(input), hazard_(hazard), finding_(*hazard.finding) {}

  std::string Print() {
    Head();
    for (const Answer& answer : AnswersOf(input_, finding_)) Labelled(answer.question, answer.text);
    Line("");
    for (const std::string& row : DrawStory(finding_)) Line("{}", row);
    Line("");
    Why();
    Changes();
    Stacks();
    Line("  Basis: {}", BasisText(finding_));
    Line("  Coverage: {}", CoverageText(input_.report));
    return std::move(out_);
  }

 private:
  template <typename... T>
  void Line(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
  }

  void Head() {
    const bool error = finding_.severity == Severity::kError;
    const std::string times = finding_.count > 1 ? fmt::format("  ({} times)", finding_.count) : "";
    Line("{}  {}, {}  {}  id {}{}", finding_.code, error ? "error" : "warning",
         Name(hazard_.confidence), hazard_.alias, hazard_.id, times);
    for (const std::string& line :
         Wrap(WrongText(finding_, "Block " + finding_.buffer.name), kWidth - 2))
      Line("  {}", line);
    Line("");
  }

  void Labelled(const std::string& label, const std::string& text) {
    std::string shown = label;
    for (const std::string& line : Wrap(text, kWidth - 28)) {
      Line("  {:<25} {}", shown, line);
      shown.clear();
    }
  }

  void Item(const std::string& mark, const std::string& text) {
    std::string shown = mark;
    for (const std::string& line : Wrap(text, kWidth - 4 - mark.size())) {
      Line("  {} {}", shown, line);
      shown.assign(mark.size(), ' ');
    }
  }

  void Why() {
    if (finding_.evidence.empty()) return;
    Line("  Why the waits that are there do not help");
    for (size_t i = 0; i < finding_.evidence.size(); ++i) {
      std::string place;
      if (i < finding_.evidence_sites.size()) {
        const Site& site = finding_.evidence_sites[i];
        place = PlaceText(input_, finding_.source, site.stack, site.line);
      }
      Item("  -", finding_.evidence[i] + (place.empty() ? "" : " [" + place + "]"));
    }
    Line("");
  }

  void Changes() {
    size_t number = 0;
    for (const Fix& fix : finding_.fixes) {
      if (!fix.verified) continue;
      if (number == 0) Line("  Changes that were tried, best first");
      Item(fmt::format("  {}.", ++number), fmt::format("{}: {}", FixText(fix), VerifiedText(fix)));
    }
    if (number == 0 && finding_.change.empty())
      Line("  No change that was tried passed verification.");
    if (number == 0 && !finding_.change.empty()) Line("  No edge of the program puts it right.");
    Line("");
  }

  void Stacks() {
    for (const Row& row : RowsOf(input_, finding_)) {
      const std::vector<std::string> lines = StackLines(input_, row, kStackFrames);
      for (const std::string& line : lines) Line("  {}", line);
      if (!lines.empty()) Line("");
    }
  }

  const PrintInput& input_;
  const Selection::Hazard& hazard_;
  const Finding& finding_;
  std::string out_;
};

}  // namespace

std::vector<std::string> DrawStory(const Finding& finding) { return Story(finding).Draw(); }

std::string PrintExplanation(const PrintInput& input, const Selection::Hazard& hazard) {
  return Printer(input, hazard).Print();
}

}  // namespace ss
