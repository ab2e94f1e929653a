#include "src/explain/ablate.h"

#include "src/explain/places.h"
#include "src/explain/window.h"

namespace ss {
namespace {

class Ablating {
 public:
  Ablating(const Tape& tape, const CheckOptions& check, const AblateOptions& options)
      : tape_(tape), check_(check), options_(options) {}

  Ablation Run() {
    CheckResult baseline = Replay(tape_, check_, {});
    for (size_t i = 0; i < baseline.findings.size(); ++i) {
      const Finding& finding = baseline.findings[i];
      if (finding.absorbed || finding.confidence < options_.min_confidence) continue;
      before_[baseline.keys[i]] += finding.count;
      ++out_.hazards;
    }
    out_.waits = FindWaits(tape_);
    out_.operations = tape_.ops->size();
    AblatePlaces(tape_, check_, options_, before_, &out_);
    TryWaits();
    return std::move(out_);
  }

 private:
  // Those that their place's trial did not settle.
  void TryWaits() {
    std::vector<size_t> open;
    std::vector<Unit> units;
    for (size_t i = 0; i < out_.waits.size(); ++i) {
      const Wait& wait = out_.waits[i];
      const bool settled = wait.verdict != WaitVerdict::kNotTried;
      if (settled || out_.places[wait.place].verdict != WaitVerdict::kLoadBearing) continue;
      open.push_back(i);
      units.emplace_back().indices = {wait.index};
    }
    Settle(tape_, check_, options_, before_, &units);
    for (size_t i = 0; i < open.size(); ++i) {
      out_.waits[open[i]].verdict = units[i].verdict;
      out_.waits[open[i]].hazards = std::move(units[i].hazards);
    }
  }

  const Tape& tape_;
  const CheckOptions& check_;
  const AblateOptions& options_;
  HazardCounts before_;
  Ablation out_;
};

}  // namespace

Ablation Ablate(const Tape& tape, const CheckOptions& check, const AblateOptions& options) {
  Ablation ablation = Ablating(tape, check, options).Run();
  const LaneNames names(tape);
  auto name = [&](std::vector<Finding>& hazards) {
    for (Finding& hazard : hazards) NameRanks(&hazard, names);
  };
  for (Wait& wait : ablation.waits) name(wait.hazards);
  for (WaitPlace& place : ablation.places) name(place.hazards);
  return ablation;
}

}  // namespace ss
