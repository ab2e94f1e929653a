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
  if (!process_.forked.empty()) {
    coverage.notes.push_back(fmt::format(
        "children of this process, which have traces of their own if they used the driver: {}",
        process_.forked.size()));
  }
  return coverage;
}

}  // namespace ss
