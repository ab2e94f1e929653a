#include "src/explain/replay.h"

#include <algorithm>

namespace ss {

CheckResult Replay(const Tape& tape, const CheckOptions& options, Edit edit) {
  std::stable_sort(edit.insertions.begin(), edit.insertions.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
  std::stable_sort(edit.flags.begin(), edit.flags.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  Checker checker(*tape.names, options);
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

std::set<std::string> ReportedKeys(const CheckResult& result) {
  std::set<std::string> keys;
  for (size_t i = 0; i < result.findings.size(); ++i) {
    if (!result.findings[i].absorbed) keys.insert(result.keys[i]);
  }
  return keys;
}

}  // namespace ss
