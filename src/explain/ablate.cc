#include "src/explain/ablate.h"

#include <algorithm>
#include <mutex>

#include "src/explain/places.h"

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
    const std::vector<size_t> chosen = Choose();
    InParallel(chosen.size(), options_.threads, [&](size_t i) {
      Try(out_.waits[chosen[i]]);
      if (!options_.progress) return;
      std::lock_guard<std::mutex> lock(telling_);
      options_.progress(++tried_, chosen.size());
    });
    return std::move(out_);
  }

 private:
  // Of the waits that their place's trial did not settle, as many as the budget allows.
  std::vector<size_t> Choose() const {
    std::vector<std::vector<size_t>> open;
    for (const WaitPlace& place : out_.places) {
      if (place.waits.size() > 1 && place.verdict == WaitVerdict::kLoadBearing)
        open.push_back(place.waits);
    }
    const uint64_t affordable = options_.max_replayed / std::max<size_t>(tape_.ops->size(), 1);
    auto needed = [&](uint64_t each) {
      uint64_t sum = 0;
      for (const auto& waits : open) sum += std::min<uint64_t>(each, waits.size());
      return sum;
    };
    uint64_t each = out_.waits.size();
    while (needed(each) > affordable && each > 0) each /= 2;
    std::vector<size_t> chosen;
    for (const auto& waits : open) {
      const size_t take = std::min<size_t>(each, waits.size());
      for (size_t k = 0; k < take; ++k) chosen.push_back(waits[k * waits.size() / take]);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  // Each thread writes to the waits that it took alone; everything else is only read meanwhile.
  void Try(Wait& wait) {
    wait.hazards = NewHazards(Replay(tape_, check_, WithoutWait(tape_, wait.index)), before_,
                              options_.min_confidence);
    wait.verdict = wait.hazards.empty() ? WaitVerdict::kRedundant : WaitVerdict::kLoadBearing;
  }

  const Tape& tape_;
  const CheckOptions& check_;
  const AblateOptions& options_;
  HazardCounts before_;
  Ablation out_;
  size_t tried_ = 0;
  std::mutex telling_;
};

}  // namespace

Ablation Ablate(const Tape& tape, const CheckOptions& check, const AblateOptions& options) {
  return Ablating(tape, check, options).Run();
}

}  // namespace ss
