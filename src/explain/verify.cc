#include "src/explain/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace ss {
namespace {

// Candidates in the order in which they are offered: what adds no wait, then waits on the GPU, then
// those that hold the host (docs/litmus.md).
int RankOf(FixKind kind) {
  switch (kind) {
    case FixKind::kReallocBeforeWait:
    case FixKind::kRecordStream:
      return 0;
    case FixKind::kWait:
    case FixKind::kPdlWait:
    case FixKind::kSourceOrder:
    case FixKind::kSplitBatch:
      return 1;
    default:
      return 2;
  }
}

std::string CostText(const Fix& fix) {
  if (fix.kind == FixKind::kRecordStream) return "no wait added";
  if (fix.path_after == fix.path_before) return "critical path unchanged";
  return fmt::format("critical path {} -> {} operations", fix.path_before, fix.path_after);
}

// What would have to come after the other side.
const char* WhatIsEarly(const Finding& finding) {
  if (finding.code != "lifetime") return "the second operation may begin";
  return finding.second.kind == OpKind::kAllocAsync
             ? "the use may begin, behind the block's allocation"
             : "the block may be given back, behind its use";
}

}  // namespace

Verifier::Verifier(const Tape& tape, const CheckOptions& check, const CheckResult& baseline,
                   uint64_t budget)
    : tape_(tape),
      check_(check),
      before_(ReportedKeys(baseline)),
      budget_(budget),
      event_(FirstFreeEvent(tape)) {}

std::optional<Edit> Verifier::AddFixes(Finding* finding, const std::string& key) {
  std::vector<Costed> fixes;
  uint64_t last_delay = 0;
  hangs_ = false;
  EventId used = 0;
  for (Candidate& candidate : ProposeFixes(*finding, tape_, event_)) {
    used = std::max<EventId>(used, static_cast<EventId>(candidate.edit.insertions.size()));
    Sort(&candidate.edit);
    const PathCost cost = CriticalPath(tape_, candidate.edit);
    if (candidate.if_cheaper && cost.delay >= last_delay) continue;
    last_delay = cost.delay;
    if (replayed_ + tape_.ops->size() > budget_ && replayed_ != 0) {
      ++skipped_;
      continue;
    }
    if (!Verify(*finding, key, candidate)) continue;
    fixes.push_back({Priced(candidate.fix, cost), std::move(candidate.edit), cost});
  }
  if (fixes.empty() && hangs_) {
    finding->change = fmt::format(
        "say by another value when {}: with the waits that were tried a wait for a value never "
        "ends",
        WhatIsEarly(*finding));
  }
  event_ += 2 * used;  // a wait and its cheaper form take one an instance each
  std::stable_sort(fixes.begin(), fixes.end(), [](const Costed& a, const Costed& b) {
    return std::tuple(RankOf(a.fix.kind), a.cost.length, a.cost.delay) <
           std::tuple(RankOf(b.fix.kind), b.cost.length, b.cost.delay);
  });
  for (Costed& one : fixes) finding->fixes.push_back(std::move(one.fix));
  if (fixes.empty()) return std::nullopt;
  return std::move(fixes.front().edit);
}

bool Verifier::Verify(const Finding& finding, const std::string& key, Candidate& candidate) {
  replayed_ += tape_.ops->size();
  std::set<std::string> after = ReportedKeys(Replay(tape_, check_, candidate.edit));
  bool gone = !after.contains(key);
  bool nothing_new = std::includes(before_.begin(), before_.end(), after.begin(), after.end());
  hangs_ |= gone && std::any_of(after.begin(), after.end(), [&](const std::string& one) {
              return one.starts_with("await-never|") && !before_.contains(one);
            });
  if (!gone || !nothing_new) return false;
  candidate.fix.verified = true;
  candidate.fix.alike = finding.count - 1 + (before_.size() - after.size() - 1);
  return true;
}

Fix Verifier::Priced(Fix fix, const PathCost& cost) {
  if (as_is_.length == 0) as_is_ = CriticalPath(tape_, {});
  fix.path_before = as_is_.length;
  fix.path_after = cost.length;
  fix.cost = CostText(fix);
  return fix;
}

}  // namespace ss
