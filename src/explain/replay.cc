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
  auto insertion = edit.insertions.begin();
  auto change = edit.flags.begin();
  for (size_t i = 0; i < tape.ops->size(); ++i) {
    for (; insertion != edit.insertions.end() && insertion->before <= i; ++insertion) {
      checker.Feed(insertion->op, tape.AccessesOf(insertion->op));
    }
    if (edit.removals.contains(i)) continue;
    Op op = (*tape.ops)[i];
    for (; change != edit.flags.end() && change->at <= i; ++change) {
      if (change->at == i) op.flags = (op.flags & ~change->clear) | change->set;
    }
    checker.Feed(op, tape.AccessesOf(op));
  }
  return checker.Finish();
}

}  // namespace

CheckResult Replay(const Tape& tape, const CheckOptions& options, Edit edit) {
  std::stable_sort(edit.insertions.begin(), edit.insertions.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
  std::stable_sort(edit.flags.begin(), edit.flags.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  if (!tape.crosses) return Walk(tape, options, edit, nullptr, nullptr);
  CrossClocks before, now;
  Walk(tape, options, edit, nullptr, &before);
  std::vector<Finding> collectives =
      CheckCollectives(before, *tape.names, *tape.ops, *tape.accesses);
  for (int walk = 1;; ++walk) {
    before.Match();
    now = CrossClocks{};
    CheckResult result = Walk(tape, options, edit, &before, &now);
    bool settled = now.SameAs(before);
    if (settled || walk == kMaxWalks) {
      result.unsettled = !settled;
      for (Finding& finding : collectives) {
        result.keys.push_back(finding.code + "|" + finding.buffer.name);
        result.findings.push_back(std::move(finding));
      }
      return result;
    }
    std::swap(before, now);
  }
}

std::set<std::string> ReportedKeys(const CheckResult& result) {
  std::set<std::string> keys;
  for (size_t i = 0; i < result.findings.size(); ++i) {
    if (!result.findings[i].absorbed) keys.insert(result.keys[i]);
  }
  return keys;
}

}  // namespace ss
