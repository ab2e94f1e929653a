#include <algorithm>
#include <iterator>
#include <memory>

#include "src/cli/output.h"
#include "src/program/picture.h"

namespace ss {
namespace {

template <typename T>
void Append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void AddUnmodelled(Coverage& to, const Coverage& from) {
  for (const Coverage::Unmodelled& call : from.unmodelled) {
    auto same = [&](const Coverage::Unmodelled& other) { return other.name == call.name; };
    auto at = std::find_if(to.unmodelled.begin(), to.unmodelled.end(), same);
    if (at == to.unmodelled.end()) {
      to.unmodelled.push_back(call);
    } else {
      at->count += call.count;
    }
  }
  std::stable_sort(to.unmodelled.begin(), to.unmodelled.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
}

void AddCoverage(Coverage& to, Coverage& from) {
  to.complete = to.complete && from.complete;
  to.late = to.late || from.late;
  to.dropped += from.dropped;
  to.calls += from.calls;
  to.calls_modelled += from.calls_modelled;
  to.launches += from.launches;
  to.launches_resolved += from.launches_resolved;
  to.muted_private += from.muted_private;
  AddUnmodelled(to, from);
  Append(to.notes, from.notes);
}

void AddStats(Stats& to, const Stats& from) {
  to.operations += from.operations;
  to.accesses += from.accesses;
  to.lanes += from.lanes;
  to.seconds += from.seconds;
}

// Pictures are shared; what is changed is a copy.
template <typename Change>
void ChangePictures(Report& report, Change change) {
  for (auto& picture : report.pictures) {
    auto changed = std::make_shared<Picture>(*picture);
    change(*changed);
    picture = std::move(changed);
  }
}

void SetSources(Report& report) {
  ChangePictures(report, [&](Picture& picture) { picture.source = report.program; });
  for (Finding& finding : report.findings) finding.source = report.program;
  for (Advice& advice : report.advice) advice.source = report.program;
}

void Rebase(StackId& stack, StackId offset) {
  if (stack) stack += offset;
}

}  // namespace

void RebaseStacks(Report& report, StackId offset) {
  for (Finding& finding : report.findings) {
    Rebase(finding.buffer.alloc_stack, offset);
    for (Site* site : {&finding.first, &finding.second, &finding.reuse, &finding.producer})
      Rebase(site->stack, offset);
    for (Site& site : finding.timeline) Rebase(site.stack, offset);
    for (Site& site : finding.evidence_sites) Rebase(site.stack, offset);
  }
  ChangePictures(report, [offset](Picture& picture) {
    for (Picture::Operation& op : picture.operations) Rebase(op.stack, offset);
  });
  for (Advice& advice : report.advice) Rebase(advice.site.stack, offset);
}

Report MergeReports(std::vector<Report> reports) {
  if (reports.empty()) return {};
  if (reports.size() > 1) {
    for (Report& report : reports) SetSources(report);
  }
  Report merged = std::move(reports.front());
  for (size_t i = 1; i < reports.size(); ++i) {
    merged.program += " " + reports[i].program;
    Append(merged.findings, reports[i].findings);
    Append(merged.advice, reports[i].advice);
    Append(merged.pictures, reports[i].pictures);
    AddCoverage(merged.coverage, reports[i].coverage);
    AddStats(merged.stats, reports[i].stats);
  }
  return merged;
}

}  // namespace ss
