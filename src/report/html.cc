#include "src/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/program/op_names.h"
#include "src/program/picture.h"
#include "src/report/coverage.h"
#include "src/report/drawn.h"
#include "src/report/page_parts.h"
#include "src/report/rows.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFrames = 12;  // of a stack; JSON reports have them all

Json Number(uint32_t value) { return value == Picture::kNone ? Json(-1) : Json(value); }

// A picture as columns: half the size of objects, and what the script wants.
class PictureColumns {
 public:
  PictureColumns(const PrintInput& input, const Picture& picture)
      : input_(input), picture_(picture), names_(picture.names) {}

  Json Make() {
    Json lanes = Json::array(), lives = Json::array();
    for (const Picture::Lane& lane : picture_.lanes) lanes.push_back({lane.name, lane.kind});
    for (const Picture::Life& life : picture_.lives) {
      lives.push_back({life.name, life.bytes, Number(life.owner), Number(life.born),
                       Number(life.died), Number(life.heir_of)});
    }
    Json ops = Operations();
    std::vector<uint64_t> touches, edges;
    for (const Picture::Touch& touch : picture_.touches) {
      touches.insert(touches.end(), {touch.life, touch.mode, touch.begin, touch.end});
    }
    for (const Picture::Edge& edge : picture_.edges)
      edges.insert(edges.end(), {edge.from, edge.to});
    return {{"lanes", lanes},
            {"names", names_},
            {"ops", ops},
            {"touch", touches},
            {"edges", edges},
            {"lives", lives},
            {"left_out", picture_.left_out}};
  }

 private:
  Json Operations() {
    std::vector<uint64_t> ids;
    std::vector<uint32_t> lanes, kinds, names, places, touches, idle;
    for (const Picture::Operation& op : picture_.operations) {
      if (op.orders_nothing) idle.push_back(static_cast<uint32_t>(ids.size()));
      ids.push_back(op.op);
      lanes.push_back(op.lane);
      kinds.push_back(static_cast<uint32_t>(op.kind));
      names.push_back(ShortName(op.name));
      places.push_back(Place(op.stack, op.line));
      touches.push_back(op.touch_begin);
    }
    return {{"id", ids},       {"lane", lanes},    {"kind", kinds}, {"name", names},
            {"place", places}, {"touch", touches}, {"idle", idle}};
  }

  uint32_t Intern(const std::string& text) {
    auto [at, fresh] = interned_.try_emplace(text, static_cast<uint32_t>(names_.size()));
    if (fresh) names_.push_back(text);
    return at->second;
  }

  uint32_t ShortName(uint32_t name) {
    auto [at, fresh] = short_.try_emplace(name, 0);
    if (fresh) at->second = Intern(KernelText(picture_.names[name]));
    return at->second;
  }

  uint32_t Place(StackId stack, uint32_t line) {
    auto [at, fresh] = places_.try_emplace({stack, line}, 0);
    if (fresh) at->second = Intern(PlaceText(input_, picture_.source, stack, line));
    return at->second;
  }

  const PrintInput& input_;
  const Picture& picture_;
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> interned_;
  std::map<uint32_t, uint32_t> short_;
  std::map<std::pair<StackId, uint32_t>, uint32_t> places_;
};

// What the script needs of one hazard: where its operations are in the picture.
class HazardPlaces {
 public:
  HazardPlaces(const Finding& finding, const Picture& picture)
      : finding_(finding), picture_(picture) {}

  Json Make(const std::string& alias, size_t picture) const {
    const std::vector<uint32_t> focus = Focus();
    return {{"alias", alias}, {"picture", picture},    {"life", Number(Life())}, {"keys", Keys()},
            {"focus", focus}, {"lanes", Lanes(focus)}, {"edge", Edge()}};
  }

 private:
  uint32_t Position(const Site& site) const {
    return site.op == 0 ? Picture::kNone : picture_.PositionOf(site.index);
  }

  uint32_t Life() const {
    for (size_t i = 0; i < picture_.lives.size(); ++i) {
      if (picture_.lives[i].buffer == finding_.buffer.id) return static_cast<uint32_t>(i);
    }
    return Picture::kNone;
  }

  std::vector<uint32_t> Keys() const {
    std::vector<uint32_t> keys;
    for (const Site* site : {&finding_.first, &finding_.second, &finding_.reuse}) {
      const uint32_t position = Position(*site);
      if (position != Picture::kNone) keys.push_back(position);
    }
    return keys;
  }

  // Also the allocation that hands the storage on.
  std::vector<uint32_t> Focus() const {
    std::set<uint32_t> focus;
    for (const Site& site : finding_.timeline) focus.insert(Position(site));
    for (uint32_t key : Keys()) focus.insert(key);
    if (finding_.reuse.op != 0) {
      for (const Picture::Life& life : picture_.lives) {
        if (life.heir_of != Picture::kNone && life.heir_of == Life()) focus.insert(life.born);
      }
    }
    focus.erase(Picture::kNone);
    return {focus.begin(), focus.end()};
  }

  std::vector<uint32_t> Lanes(const std::vector<uint32_t>& focus) const {
    std::vector<uint32_t> lanes;
    for (uint32_t position : focus) {
      const uint32_t lane = picture_.operations[position].lane;
      if (std::find(lanes.begin(), lanes.end(), lane) == lanes.end()) lanes.push_back(lane);
    }
    // Host threads issue what the streams do: they stand above them.
    std::stable_partition(lanes.begin(), lanes.end(), [&](uint32_t lane) {
      return picture_.lanes[lane].kind == std::string_view("host thread");
    });
    return lanes;
  }

  Json Edge() const {
    const MissingEdge edge = EdgeOf(finding_);
    if (edge.from == nullptr) return nullptr;
    const uint32_t from = Position(*edge.from), to = Position(*edge.to);
    if (from == Picture::kNone || to == Picture::kNone) return nullptr;
    return Json::array({from, to});
  }

  const Finding& finding_;
  const Picture& picture_;
};

class HtmlPrinter {
 public:
  explicit HtmlPrinter(const PrintInput& input) : input_(input) {}

  std::string Print() {
    const Report& report = input_.report;
    const size_t count = input_.selection.hazards.size();
    const std::string found =
        count || report.coverage.complete ? Counted(count, "hazard") : "no hazard in what was seen";
    page_.title = fmt::format("StreamSan: {} in {}", found,
                              report.title.empty() ? report.program : report.title);
    page_.coverage = "Coverage: " + CoverageText(report);
    page_.legend =
        "Left to right is the order in which the program issued its work, not time. Arrows: event "
        "waits "
        "and synchronisations that were there; the implicit order of the legacy stream is not "
        "drawn. Numbers also count operations that never are, such as creations.";
    if (ShowsIdleWaits())
      page_.legend += " Dashed yellow, with a cross: a wait for an event that nobody had recorded.";
    page_.gaps = GapLines(report.coverage);
    Hidden();
    for (const auto& hazard : input_.selection.hazards) Hazard(hazard);
    for (const Advice* advice : input_.selection.advice) AddAdvice(*advice);
    Data();
    return PrintPage(page_);
  }

 private:
  bool ShowsIdleWaits() const {
    for (const auto& picture : input_.report.pictures) {
      for (const Picture::Operation& op : picture->operations) {
        if (op.orders_nothing) return true;
      }
    }
    return false;
  }

  void Hidden() {
    const Selection& selection = input_.selection;
    if (selection.below_confidence) {
      page_.gaps.push_back(fmt::format("{} less certain: --min-confidence possible shows them.",
                                       Counted(selection.below_confidence, "more hazard")));
    }
    if (selection.known)
      page_.gaps.push_back(Counted(selection.known, "hazard") + " known from the baseline.");
    if (selection.suppressed) {
      page_.gaps.push_back(Counted(selection.suppressed, "hazard") + " suppressed.");
    }
  }

  void Hazard(const Selection::Hazard& hazard) {
    const Finding& finding = *hazard.finding;
    PageHazard shown;
    shown.alias = hazard.alias;
    shown.code = finding.code;
    shown.label = finding.buffer.name;
    shown.sure = fmt::format("{}, {}{}", finding.severity == Severity::kError ? "error" : "warning",
                             Name(hazard.confidence),
                             finding.count > 1 ? fmt::format(", {} times", finding.count) : "");
    shown.wrong = WrongText(finding, "Block " + finding.buffer.name);
    shown.answers = AnswersOf(input_, finding);
    shown.more.emplace_back("Why the waits that are there do not help", Evidence(finding));
    shown.more.emplace_back("Changes that were tried", Fixes(finding));
    Stacks(finding, shown);
    shown.more.emplace_back("What this rests on", std::vector<std::string>{BasisText(finding)});
    page_.hazards.push_back(std::move(shown));
  }

  std::vector<std::string> Evidence(const Finding& finding) const {
    std::vector<std::string> lines;
    for (size_t i = 0; i < finding.evidence.size(); ++i) {
      std::string place;
      if (i < finding.evidence_sites.size()) {
        const Site& site = finding.evidence_sites[i];
        place = PlaceText(input_, finding.source, site.stack, site.line);
      }
      lines.push_back(finding.evidence[i] + (place.empty() ? "" : " [" + place + "]"));
    }
    return lines;
  }

  static std::vector<std::string> Fixes(const Finding& finding) {
    std::vector<std::string> lines;
    for (const Fix& fix : finding.fixes) {
      if (fix.verified) lines.push_back(FixText(fix) + ": " + VerifiedText(fix));
    }
    return lines;
  }

  void Stacks(const Finding& finding, PageHazard& shown) const {
    for (const Row& row : RowsOf(input_, finding)) {
      std::vector<std::string> lines;
      for (const Frame& frame : input_.symbols.Frames(row.site->stack)) {
        if (!IsProgramFrame(frame) || lines.size() == kFrames) continue;
        lines.push_back(fmt::format("{} {}", frame.fn.empty() ? "?" : FunctionText(frame.fn),
                                    ShortText(frame)));
      }
      shown.more.emplace_back(
          fmt::format("{} {} was issued by {} at", row.role, row.op, row.site->host), lines);
    }
  }

  void AddAdvice(const Advice& advice) {
    const std::string place = PlaceText(input_, advice.source, advice.site.stack, advice.site.line);
    page_.advice.push_back(fmt::format("{} {}: {}{}", advice.code, advice.subject, advice.text,
                                       place.empty() ? "" : " [" + place + "]"));
  }

  void Data() {
    Json kinds = Json::array(), pictures = Json::array(), hazards = Json::array();
    for (uint32_t kind = 0; kind <= static_cast<uint32_t>(OpKind::kBufferName); ++kind) {
      kinds.push_back(Name(static_cast<OpKind>(kind)));
    }
    for (const auto& picture : input_.report.pictures) {
      pictures.push_back(PictureColumns(input_, *picture).Make());
    }
    for (const auto& hazard : input_.selection.hazards) {
      const size_t at = PictureOf(*hazard.finding);
      const Picture none, &picture = at < pictures.size() ? *input_.report.pictures[at] : none;
      hazards.push_back(HazardPlaces(*hazard.finding, picture).Make(hazard.alias, at));
    }
    page_.data = {{"schema", 1}, {"kinds", kinds}, {"pictures", pictures}, {"hazards", hazards}};
  }

  size_t PictureOf(const Finding& finding) const {
    const auto& pictures = input_.report.pictures;
    for (size_t i = 0; i < pictures.size(); ++i) {
      if (IsDrawnOn(finding, *pictures[i])) return i;
    }
    return pictures.size();
  }

  const PrintInput& input_;
  Page page_;
};

}  // namespace

std::string PrintHtml(const PrintInput& input) { return HtmlPrinter(input).Print(); }

}  // namespace ss
