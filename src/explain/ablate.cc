#include "src/explain/ablate.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace ss {
namespace {

using Counts = std::map<std::string, uint64_t>;  // instances by key

// Calls `take` with each reported finding that counts.
template <typename Take>
void ForEachReported(CheckResult& result, Confidence least, Take take) {
  for (size_t i = 0; i < result.findings.size(); ++i) {
    Finding& finding = result.findings[i];
    if (!finding.absorbed && finding.confidence >= least) take(result.keys[i], finding);
  }
}

class Ablating {
 public:
  Ablating(const Tape& tape, const CheckOptions& check, const AblateOptions& options)
      : tape_(tape), check_(check), options_(options) {}

  Ablation Run() {
    CheckResult baseline = Replay(tape_, check_, {});
    ForEachReported(baseline, options_.min_confidence, [&](const std::string& key, Finding& one) {
      before_[key] += one.count;
      ++out_.hazards;
    });
    out_.waits = FindWaits(tape_);
    out_.operations = tape_.ops->size();
    chosen_ = Choose();
    TryAll();
    return std::move(out_);
  }

 private:
  // Positions in out_.waits, as many as the budget allows.
  std::vector<size_t> Choose() const {
    std::map<std::tuple<OpKind, StackId, uint32_t>, std::vector<size_t>> places;
    for (size_t i = 0; i < out_.waits.size(); ++i) {
      const Wait& wait = out_.waits[i];
      places[{wait.kind, wait.stack, wait.line}].push_back(i);
    }
    const uint64_t affordable = options_.max_replayed / std::max<size_t>(tape_.ops->size(), 1);
    auto needed = [&](uint64_t each) {
      uint64_t sum = 0;
      for (const auto& [place, waits] : places) sum += std::min<uint64_t>(each, waits.size());
      return sum;
    };
    uint64_t each = out_.waits.size(), least = 1;  // one of each place is always tried
    while (needed(each) > affordable && each > least) each = std::max(least, each / 2);
    std::vector<size_t> chosen;
    for (const auto& [place, waits] : places) {
      const size_t take = std::min<size_t>(each, waits.size());
      for (size_t k = 0; k < take; ++k) chosen.push_back(waits[k * waits.size() / take]);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  void TryAll() {
    size_t count = options_.threads ? options_.threads : std::thread::hardware_concurrency();
    count = std::clamp<size_t>(count, 1, std::max<size_t>(chosen_.size(), 1));
    std::vector<std::thread> threads;
    for (size_t i = 1; i < count; ++i) threads.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : threads) thread.join();
  }

  // Each thread writes to the waits that it took alone; everything else is only read meanwhile.
  void Work() {
    for (size_t i; (i = next_.fetch_add(1)) < chosen_.size();) {
      Try(out_.waits[chosen_[i]]);
      if (!options_.progress) continue;
      std::lock_guard<std::mutex> lock(telling_);
      options_.progress(++tried_, chosen_.size());
    }
  }

  void Try(Wait& wait) {
    CheckResult result = Replay(tape_, check_, WithoutWait(tape_, wait.index));
    ForEachReported(result, options_.min_confidence, [&](const std::string& key, Finding& one) {
      auto before = before_.find(key);
      const uint64_t known = before == before_.end() ? 0 : before->second;
      if (one.count <= known) return;
      one.count -= known;
      one.instances.clear();
      wait.hazards.push_back(std::move(one));
    });
    wait.verdict = wait.hazards.empty() ? WaitVerdict::kRedundant : WaitVerdict::kLoadBearing;
  }

  const Tape& tape_;
  const CheckOptions& check_;
  const AblateOptions& options_;
  Counts before_;
  Ablation out_;
  std::vector<size_t> chosen_;
  std::atomic<size_t> next_ = 0;
  size_t tried_ = 0;
  std::mutex telling_;
};

}  // namespace

Ablation Ablate(const Tape& tape, const CheckOptions& check, const AblateOptions& options) {
  return Ablating(tape, check, options).Run();
}

}  // namespace ss
