// What was seen and what was not, as the report states it.
#include <fmt/format.h>

#include <algorithm>

#include "src/import/state.h"

namespace ss {
namespace {

constexpr size_t kNamedKernels = 5;  // unresolved ones, in full
constexpr size_t kNamedReasons = 5;  // of the others
constexpr size_t kNameLength = 80;   // of a mangled name

}  // namespace

// Most launches first; what there is beyond a few is summed by reason.
void Importer::State::ReportUnresolved(Coverage& coverage) const {
  std::vector<std::pair<StringId, UnresolvedKernel>> kernels(unresolved_.begin(),
                                                             unresolved_.end());
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a.second.launches > b.second.launches;
  });
  std::map<std::string, std::pair<uint64_t, uint64_t>> others;  // reason -> kernels, launches
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto& [id, kernel] = kernels[i];
    if (i >= kNamedKernels) {
      auto& [count, launches] = others[kernel.reason];
      ++count;
      launches += kernel.launches;
      continue;
    }
    std::string name = strings_.Get(id);
    if (name.size() > kNameLength) name = name.substr(0, kNameLength) + "...";
    coverage.notes.push_back(fmt::format("{} launches of {} with unknown accesses: {}",
                                         kernel.launches, name, kernel.reason));
  }
  std::vector<std::pair<std::string, std::pair<uint64_t, uint64_t>>> sums(others.begin(),
                                                                          others.end());
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.second.second > b.second.second; });
  uint64_t kernels_left = 0, launches_left = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto& [reason, sum] = sums[i];
    if (i < kNamedReasons) {
      coverage.notes.push_back(
          fmt::format("{} launches of {} more kernels with unknown accesses: {}", sum.second,
                      sum.first, reason));
    } else {
      kernels_left += sum.first;
      launches_left += sum.second;
    }
  }
  if (kernels_left != 0) {
    coverage.notes.push_back(
        fmt::format("{} launches of {} more kernels with unknown accesses, for {} more reasons",
                    launches_left, kernels_left, sums.size() - kNamedReasons));
  }
}

// Without its plug-in, the blocks inside PyTorch's segments are not known. A launcher that only
// asks for the number of devices has none.
void Importer::State::AddPlugIns(Coverage* coverage) const {
  for (StringId gap : gaps_) coverage->notes.push_back(strings_.Get(gap));
  // One that only looks at the driver (a launcher of ranks) has no allocator yet.
  const bool blind = pytorch_ && !plug_in_ && (launches_ != 0 || buffers_made_ != 0);
  if (blind) {
    coverage->notes.push_back(
        "PyTorch runs without StreamSan's plug-in: what its caching allocator hands out and takes "
        "back is not seen (PYTHONPATH was cleared, or Python was started with -I or -E)");
  }
  if (!gaps_.empty() || blind) coverage->complete = false;
}

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
  ReportUnresolved(coverage);
  counts_.Report(coverage);
  AddPlugIns(&coverage);
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
