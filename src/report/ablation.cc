#include "src/report/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "src/report/coverage.h"
#include "src/report/lines.h"
#include "src/report/words.h"

namespace ss {
namespace {

// A hazard as a reader tells it from others: which of many allocations it was does not matter.
struct Appearing {
  std::string text;
  uint64_t waits = 0;  // without how many of the waits
};

struct Place {
  std::string text;
  std::string where;
  std::array<uint64_t, 3> verdicts{};
  std::vector<Appearing> hazards;
  bool needed_together = false;  // no wait alone, but all of them

  uint64_t Count(WaitVerdict verdict) const { return verdicts[static_cast<size_t>(verdict)]; }
};

std::string SiteText(const Site& site) {
  return fmt::format("{} ({})", FunctionText(site.name), LaneText(site));
}

std::string HazardText(const Finding& finding) {
  return fmt::format("{}, {}: {}, {} then {}", finding.code, Name(finding.confidence),
                     finding.buffer.name, SiteText(finding.first), SiteText(finding.second));
}

class Text : private Lines {
 public:
  explicit Text(const AblationInput& input) : input_(input) {}

  std::string Print() {
    for (const Wait& wait : input_.ablation.waits) Add(wait);
    for (const Place& place : places_) Print(place);
    Needless();
    Together();
    Summary();
    return std::move(out_);
  }

 private:
  std::string Where(const Wait& wait) const {
    if (wait.line) return fmt::format("{}:{}", input_.report.program, wait.line);
    const Frame* frame = SiteOf(input_.symbols.Frames(wait.stack));
    return frame ? ShortText(*frame) : "";
  }

  void Add(const Wait& wait) {
    const std::string where = Where(wait);
    auto [at, fresh] = by_key_.try_emplace({wait.text, where}, places_.size());
    if (fresh) places_.push_back({wait.text, where});
    Place& place = places_[at->second];
    const WaitPlace& whole = input_.ablation.places[wait.place];
    if (whole.verdict == WaitVerdict::kLoadBearing && !AnyNeeded(whole)) {
      place.needed_together = true;
      for (const Finding& finding : whole.hazards) AddHazard(place, finding, 0);
    }
    ++place.verdicts[static_cast<size_t>(wait.verdict)];
    ++totals_[static_cast<size_t>(wait.verdict)];
    for (const Finding& finding : wait.hazards) AddHazard(place, finding, 1);
  }

  bool AnyNeeded(const WaitPlace& place) const {
    return std::any_of(place.waits.begin(), place.waits.end(), [&](size_t wait) {
      return input_.ablation.waits[wait].verdict == WaitVerdict::kLoadBearing;
    });
  }

  static void AddHazard(Place& place, const Finding& finding, uint64_t waits) {
    const std::string text = HazardText(finding);
    auto known = std::find_if(place.hazards.begin(), place.hazards.end(),
                              [&](const Appearing& one) { return one.text == text; });
    if (known == place.hazards.end()) known = place.hazards.insert(known, {text});
    known->waits += waits;
  }

  static std::string VerdictText(const Place& place) {
    const uint64_t needed = place.Count(WaitVerdict::kLoadBearing);
    const uint64_t tried = needed + place.Count(WaitVerdict::kRedundant);
    if (needed == 0 && place.needed_together) return "needed, no single one";
    if (tried == 0) return "not tried";
    const char* word = needed ? "load-bearing" : "redundant";
    if (tried == 1) return word;
    return fmt::format("{} {} of {}", word, needed ? needed : tried, tried);
  }

  void Print(const Place& place) {
    Line("{:<24}  {:<48}  {}", VerdictText(place), place.text, place.where);
    size_t shown = std::min(place.hazards.size(), kShown);
    for (size_t i = 0; i < shown; ++i) {
      const Appearing& one = place.hazards[i];
      const std::string times = one.waits > 1 ? fmt::format("  ({} waits)", one.waits) : "";
      Line("    without it  {}{}", one.text, times);
    }
    if (shown < place.hazards.size()) Line("    and {} more", place.hazards.size() - shown);
  }

  // With the operation, because equal call sites may be reached in different ways.
  std::string PlaceText(size_t number) const {
    const Wait& wait = input_.ablation.waits[input_.ablation.places[number].waits.front()];
    const std::string where = Where(wait);
    return fmt::format("{} [{}op {}]", wait.text, where.empty() ? "" : where + ", ", wait.op);
  }

  static std::string CostText(const WaitPlace& place) {
    std::vector<std::string> parts;
    if (place.path_after != place.path_before) {
      parts.push_back(fmt::format("critical path {} -> {} operations without", place.path_before,
                                  place.path_after));
    } else if (place.delay != 0) {
      parts.push_back(
          fmt::format("holds work back, by {} in all", Counted(place.delay, "operation")));
    }
    if (place.held_blocks != 0) {
      parts.push_back(fmt::format("{} ({}) kept longer", Counted(place.held_blocks, "block"),
                                  BytesText(place.held_bytes)));
    }
    if (place.of_owner != 0) parts.push_back("names the block's owner: protects nothing");
    if (place.path_before == 0) parts.push_back("lost overlap not worked out (--budget)");
    if (parts.empty()) parts.push_back("no overlap lost");
    std::string text = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) text += ", " + parts[i];
    return text;
  }

  // Redundant places with all of their waits, what costs most first.
  void Needless() {
    const auto& places = input_.ablation.places;
    std::vector<size_t> order;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].verdict == WaitVerdict::kRedundant) order.push_back(i);
    }
    if (order.empty()) return;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      auto cost = [&](size_t i) {
        const WaitPlace& place = places[i];
        return std::tuple(place.path_before - place.path_after, place.delay, place.held_bytes);
      };
      return cost(a) > cost(b);
    });
    Line("Needless, what costs most first:");
    for (size_t i = 0; i < std::min(order.size(), kRanked); ++i) {
      Line("    {:<64}  {}", PlaceText(order[i]), CostText(places[order[i]]));
    }
    if (order.size() > kRanked) Line("    and {} more", order.size() - kRanked);
  }

  void Together() {
    const Ablation& ablation = input_.ablation;
    for (size_t i = 0; i < ablation.places.size(); ++i) {
      const WaitPlace& place = ablation.places[i];
      if (place.not_without.empty()) continue;
      Line("Redundant one by one, not together:");
      Line("    {}", PlaceText(i));
      for (size_t other : place.not_without) Line("    {}", PlaceText(other));
    }
    Line("{} of {} keep all the order that there is{}.", ablation.minimal.size(),
         Counted(ablation.places.size(), "call site"),
         ablation.minimal_whole ? "" : "; more may be dispensable (--budget)");
  }

  void Summary() {
    const Ablation& ablation = input_.ablation;
    Line("{} at {}: {} load-bearing, {} redundant, {} not tried; {} with every wait in place.",
         Counted(ablation.waits.size(), "wait"), Counted(places_.size(), "place"), totals_[0],
         totals_[1], totals_[2], Counted(ablation.hazards, "hazard"));
    Line("Coverage: {}", CoverageText(input_.report));
    for (const std::string& gap : GapLines(input_.report.coverage)) Line("  {}", gap);
    if (input_.report.pid) {
      Line(
          "  What the CPU reads and writes was not seen: a wait for its sake alone counts as "
          "redundant.");
    }
  }

  static constexpr size_t kShown = 4;    // hazards of one place; JSON has them all
  static constexpr size_t kRanked = 20;  // needless places

  const AblationInput& input_;
  std::vector<Place> places_;
  std::map<std::pair<std::string, std::string>, size_t> by_key_;
  std::array<uint64_t, 3> totals_{};
};

}  // namespace

std::string PrintAblationText(const AblationInput& input) { return Text(input).Print(); }

}  // namespace ss
