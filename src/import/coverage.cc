// What was seen and what was not, as the report states it.
#include <fmt/format.h>

#include <algorithm>

#include "src/import/state.h"

namespace ss {

Coverage Importer::State::MakeCoverage() const {
  Coverage coverage;
  coverage.dropped = dropped_;
  coverage.late = process_.late;
  coverage.calls = coverage.calls_modelled = calls_;
  coverage.launches = launches_;
  coverage.launches_resolved = launches_resolved_;
  std::map<std::string, uint64_t> by_name;  // several ids may have one text: sums are by text
  for (const auto& [text_id, count] : unmodelled_) {
    const std::string& name = strings_.Get(texts_.Get(text_id));
    by_name[name.empty() ? "(name was not recorded)" : name] += count;
    coverage.calls += count;
  }
  for (const auto& [name, count] : by_name) coverage.unmodelled.push_back({name, count});
  std::stable_sort(coverage.unmodelled.begin(), coverage.unmodelled.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  coverage.complete =
      dropped_ == 0 && !process_.late && unmodelled_.empty() && launches_ == launches_resolved_;
  counts_.Report(coverage);
  if (held_.ambiguous() != 0) {
    coverage.notes.push_back(
        fmt::format("operations of ambiguous order, because calls of two threads on one stream or "
                    "event overlapped: {}",
                    held_.ambiguous()));
  }
  for (uint64_t child : process_.forked) {
    coverage.notes.push_back(
        fmt::format("the program forked: process {} is not part of this trace", child));
  }
  return coverage;
}

}  // namespace ss
