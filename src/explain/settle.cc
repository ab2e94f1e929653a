#include "src/explain/settle.h"

#include <numeric>
#include <utility>

namespace ss {
namespace {

using Set = std::vector<size_t>;  // units

class Settling {
 public:
  Settling(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
           const HazardCounts& before, std::vector<Unit>* units)
      : tape_(tape), check_(check), options_(options), before_(before), units_(*units) {
    check_.max_instances = kInstances;
  }

  void Run() {
    Set all(units_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    uint64_t left = options_.max_replayed / std::max<size_t>(tape_.ops->size(), 1);
    left = std::max<uint64_t>(left, 1);
    // One by one where that is affordable, else in as many sets as half of the budget.
    const uint64_t sets = 2 * all.size() <= left ? all.size() : std::max<uint64_t>(left / 2, 1);
    std::vector<Set> round = Deal(all, sets);
    while (!round.empty() && left > 0) {
      if (round.size() > left) round.resize(left);
      left -= round.size();
      std::vector<std::vector<Finding>> hazards(round.size());
      InParallel(round.size(), options_.threads, [&](size_t i) {
        CheckOptions check = check_;
        // Hazards that are there anyway settle others: those are nobody's fault.
        check.every_pair = round[i].size() > 1 && before_.empty();
        hazards[i] =
            NewHazards(Replay(tape_, check, Without(round[i])), before_, options_.min_confidence);
      });
      std::vector<Set> next;
      for (size_t i = 0; i < round.size(); ++i) Judge(round[i], std::move(hazards[i]), next);
      round = std::move(next);
      if (options_.progress) options_.progress(settled_, units_.size());
    }
  }

 private:
  static constexpr size_t kInstances = 1'000'000;

  // Neighbours into different sets: few of a set's waits then lie between two operations.
  static std::vector<Set> Deal(const Set& set, uint64_t parts) {
    std::vector<Set> dealt(std::min<uint64_t>(parts, set.size()));
    for (size_t i = 0; i < set.size(); ++i) dealt[i % dealt.size()].push_back(set[i]);
    return dealt;
  }

  Edit Without(const Set& set) const {
    Edit edit;
    for (size_t unit : set) {
      for (size_t index : units_[unit].indices) TakeOut(tape_, index, &edit);
    }
    return edit;
  }

  void Judge(const Set& set, std::vector<Finding> hazards, std::vector<Set>& next) {
    if (hazards.empty()) {
      for (size_t unit : set) Say(unit, WaitVerdict::kRedundant);
      return;
    }
    if (set.size() == 1) {
      for (Finding& finding : hazards) finding.instances.clear();
      units_[set[0]].hazards = std::move(hazards);
      return Say(set[0], WaitVerdict::kLoadBearing);
    }
    const size_t before = settled_;
    if (!tape_.crosses) Blame(set, hazards);
    if (settled_ == before) {
      for (Set& half : Deal(set, 2)) next.push_back(std::move(half));
      return;
    }
    Set rest;
    for (size_t unit : set) {
      if (units_[unit].verdict == WaitVerdict::kNotTried) rest.push_back(unit);
    }
    if (!rest.empty()) next.push_back(std::move(rest));
  }

  void Say(size_t unit, WaitVerdict verdict) {
    settled_ += units_[unit].verdict == WaitVerdict::kNotTried;
    units_[unit].verdict = verdict;
  }

  // Where the units' waits were, with the unit: the position, in what is left of the program, of
  // the operation that they stood before. Findings know positions of what was judged.
  std::vector<std::pair<size_t, size_t>> Gaps(const Set& set) const {
    std::map<size_t, size_t> unit_of;
    for (size_t unit : set) {
      for (size_t index : units_[unit].indices) unit_of[index] = unit;
    }
    std::vector<std::pair<size_t, size_t>> gaps;
    size_t before = 0;  // operations taken out so far
    for (size_t index : Without(set).removals) {
      auto wait = unit_of.find(index);
      if (wait != unit_of.end()) gaps.emplace_back(index - before, wait->second);
      ++before;
    }
    return gaps;
  }

  // A lifetime ends later than at its second operation, and record_stream may come before the
  // first: those blame nobody.
  void Blame(const Set& set, const std::vector<Finding>& hazards) {
    const std::vector<std::pair<size_t, size_t>> removed = Gaps(set);
    for (const Finding& finding : hazards) {
      if (finding.code == "lifetime") continue;
      std::map<size_t, uint64_t> blamed;  // unit -> instances
      for (const Instance& at : finding.instances) {
        const auto [low, high] = std::minmax(at.first_index, at.second_index);
        auto first =
            std::lower_bound(removed.begin(), removed.end(), std::pair(low + 1, size_t{0}));
        auto last = first;
        while (last != removed.end() && last->first <= high && last->second == first->second)
          ++last;
        const bool alone = first != last && (last == removed.end() || last->first > high);
        if (alone) ++blamed[first->second];
      }
      for (const auto& [unit, count] : blamed) {
        Say(unit, WaitVerdict::kLoadBearing);
        Finding one = finding;
        one.instances.clear();
        one.count = count;
        units_[unit].hazards.push_back(std::move(one));
      }
    }
  }

  const Tape& tape_;
  CheckOptions check_;
  const AblateOptions& options_;
  const HazardCounts& before_;
  std::vector<Unit>& units_;
  size_t settled_ = 0;
};

}  // namespace

std::vector<Finding> NewHazards(CheckResult result, const HazardCounts& before, Confidence least) {
  std::vector<Finding> hazards;
  for (size_t i = 0; i < result.findings.size(); ++i) {
    Finding& finding = result.findings[i];
    if (finding.absorbed || finding.confidence < least) continue;
    auto known = before.find(result.keys[i]);
    const uint64_t count = known == before.end() ? 0 : known->second;
    if (finding.count <= count) continue;
    finding.count -= count;
    if (count != 0) finding.instances.clear();
    hazards.push_back(std::move(finding));
  }
  return hazards;
}

void Settle(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
            const HazardCounts& before, std::vector<Unit>* units) {
  Settling(tape, check, options, before, units).Run();
}

}  // namespace ss
