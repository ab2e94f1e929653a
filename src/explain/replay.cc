#include "src/explain/replay.h"

#include <algorithm>

#include "src/detect/collectives.h"

namespace ss {

namespace {

// Each walk carries every chain of signals or collectives against the order of issue one link
// further.
constexpr int kMaxWalks = 32;

CheckResult Walk(const Tape& tape, const CheckOptions& options, const Edit& edit,
                 const CrossClocks* before, CrossClocks* now) {
  Checker checker(*tape.names, options);
  checker.Carry(before, now);
  ForEachEdited(tape, edit,
                [&](const Op& op, const Access* accesses) { checker.Feed(op, accesses); });
  return checker.Finish();
}

// The clocks may still lack what would put two operations in order.
void Doubt(CheckResult* result) {
  result->unsettled = true;
  for (Finding& finding : result->findings) {
    finding.unsettled = true;
    finding.confidence = std::min(finding.confidence, Confidence::kLikely);
  }
}

}  // namespace

void Sort(Edit* edit) {
  std::stable_sort(edit->insertions.begin(), edit->insertions.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
  std::stable_sort(edit->flags.begin(), edit->flags.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
}

CheckResult Replay(const Tape& tape, const CheckOptions& options, Edit edit) {
  Sort(&edit);
  if (!tape.crosses) return Walk(tape, options, edit, nullptr, nullptr);
  CrossClocks before, now;
  const CheckResult alone = Walk(tape, options, edit, nullptr, &before);
  std::vector<Finding> collectives;
  // A recorded process has its own half alone; whoever has all of them compares.
  if (!tape.names->recorded) {
    collectives =
        MatchCollectives(CallsOf(*tape.names, *tape.ops, *tape.accesses, alone.collectives))
            .findings;
  }
  for (int walk = 1;; ++walk) {
    before.Match();
    now = CrossClocks{};
    CheckResult result = Walk(tape, options, edit, &before, &now);
    bool settled = now.SameAs(before);
    if (settled || walk == kMaxWalks) {
      if (!settled) Doubt(&result);
      for (Finding& finding : collectives) {
        result.keys.push_back(finding.code + "|" + finding.buffer.name);
        result.findings.push_back(std::move(finding));
      }
      return result;
    }
    std::swap(before, now);
  }
}

EventId FirstFreeEvent(const Tape& tape) {
  EventId last = 0;
  for (const Op& op : *tape.ops) {
    bool event = op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent ||
                 op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery;
    if (event) last = std::max(last, op.object);
  }
  return last + 1;
}

std::set<std::string> ReportedKeys(const CheckResult& result) {
  std::set<std::string> keys;
  for (size_t i = 0; i < result.findings.size(); ++i) {
    if (!result.findings[i].absorbed) keys.insert(result.keys[i]);
  }
  // A fix after which a wait never ends is none.
  for (const Advice& advice : result.advice) {
    if (advice.code == "await-never") keys.insert(advice.code + "|" + advice.subject);
  }
  return keys;
}

}  // namespace ss
