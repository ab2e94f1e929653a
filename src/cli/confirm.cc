#include "src/cli/confirm.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/cli/choose.h"
#include "src/cli/process_analysis.h"
#include "src/report/ids.h"
#include "src/report/words.h"

namespace ss {
namespace {

using Places = std::vector<Analysis::Place>;

// What each stack id stands for in any run.
class PlaceTable {
 public:
  explicit PlaceTable(const ProcessStacks& process) {
    for (const ModuleMap& module : process.modules) modules_[module.begin] = &module;
    for (const ProcessStacks::Stack& stack : process.stacks) {
      trace::PlaceHash place;
      for (uint64_t address : stack.addresses) Add(address, &place);
      places_[stack.id] = stack.addresses.empty() ? 0 : place.value();
    }
  }

  uint64_t Of(StackId stack) const {
    auto found = places_.find(stack);
    return found == places_.end() ? 0 : found->second;
  }

 private:
  void Add(uint64_t address, trace::PlaceHash* place) const {
    auto above = modules_.upper_bound(address);
    const ModuleMap* module = above == modules_.begin() ? nullptr : std::prev(above)->second;
    if (module && address >= module->end) module = nullptr;
    place->Add(module ? trace::HashOfFile(module->path.c_str()) : 0,
               module ? address - module->begin : 0);
  }

  std::map<uint64_t, const ModuleMap*> modules_;
  std::map<StackId, uint64_t> places_;
};

// How many operations of its kind its place had made when the site's was made.
trace::TrialCall CallOf(const Site& site, const Places& all, const PlaceTable& table) {
  trace::TrialCall call{table.Of(site.stack), 0};
  for (size_t i = 0; i <= site.index && i < all.size(); ++i) {
    if (all[i].kind == site.kind && table.Of(all[i].stack) == call.place) ++call.number;
  }
  return call;
}

bool IsStreamWork(const Site& site) {
  switch (site.kind) {
    case OpKind::kKernel:
    case OpKind::kCopy:
    case OpKind::kMemset:
    case OpKind::kHostFn:
      return site.launch_stream == 0;  // else inside a graph
    default:
      return false;
  }
}

bool IsOfCpu(const Site& site) {
  return site.kind == OpKind::kFree || site.kind == OpKind::kHostAccess;
}

// Who would be hurt by a use that comes late: whoever got the storage, else the free. Where it is
// only known that the storage was given away, the free before that.
const Site& SecondOf(const Finding& finding) {
  const bool lifetime = finding.code == "lifetime" && finding.reuse.op != 0;
  return lifetime && IsStreamWork(finding.reuse) ? finding.reuse : finding.second;
}

// The numbers are those of the trace; the new run may count otherwise.
std::string Words(const Site& site, const std::string& trace) {
  return fmt::format("{} on {} (op {} of {})", KernelText(site.name), LaneText(site), site.op,
                     trace.substr(trace.rfind('/') + 1));
}

Result<PlannedTrial> Plan(const std::string& path, const Selection::Hazard& hazard,
                          const Places& all, const PlaceTable& table) {
  const Site& first = hazard.finding->first;
  const Site& second = SecondOf(*hazard.finding);
  if (!IsStreamWork(first)) {
    return Fail(path, fmt::format("{}: {} cannot be held back", hazard.alias, Words(first, path)),
                "kernels, copies, memsets and host functions can, outside of graphs");
  }
  if (!IsStreamWork(second) && !IsOfCpu(second)) {
    return Fail(
        path,
        fmt::format("{}: it cannot be seen when {} is complete", hazard.alias, Words(second, path)),
        "of kernels, copies, memsets, host functions outside of graphs, of frees and "
        "annotated accesses of the CPU it can");
  }
  PlannedTrial planned{{}, hazard.id, Words(first, path), Words(second, path)};
  planned.plan.first = CallOf(first, all, table);
  planned.plan.second = CallOf(second, all, table);
  planned.plan.by_cpu = IsOfCpu(second);
  if (planned.plan.first.place && planned.plan.second.place) return planned;
  return Fail(path, "its calls have no call stacks", "record it without stacks=0");
}

}  // namespace

Result<PlannedTrial> PlanTrial(const ConfirmOptions& options, const ReportOptions& report) {
  AnalyseOptions engine = EngineOptions(report);
  engine.verify = false;
  engine.picture = 0;
  Places places;
  Result<Analysed> analysed = AnalyseTraceFile(
      options.trace, engine, [&](const Analysis& analysis) { places = analysis.Places(); });
  if (!analysed) return tl::unexpected(analysed.error());
  const PlaceTable table(analysed->stacks);
  std::vector<Analysed> inputs;
  inputs.push_back(std::move(*analysed));
  Symboliser symbols;
  const Report joined = Join(std::move(inputs), {}, symbols);
  Result<Selection> chosen = ChooseHazard(joined, report, options.trace, options.id, symbols);
  if (!chosen) return tl::unexpected(chosen.error());
  Result<PlannedTrial> planned = Plan(options.trace, chosen->hazards.front(), places, table);
  if (planned) planned->plan.seconds = options.hold_seconds;
  return planned;
}

std::string PlanText(const trace::TrialPlan& plan) {
  return fmt::format("{:x}:{:x}:{:x}:{:x}:{:x}:{:x}", plan.first.place, plan.first.number,
                     plan.second.place, plan.second.number, plan.by_cpu, plan.seconds);
}

void NameTrials(const PlannedTrial& planned, Report& report, Symboliser& symbols) {
  const std::vector<std::string> ids = IdsOf(report, symbols);
  const bool there = std::find(ids.begin(), ids.end(), planned.id) != ids.end();
  if (report.trials.empty()) report.trials.emplace_back();
  for (Trial& trial : report.trials) {
    const bool confirmed = trial.outcome == trace::TrialOutcome::kConfirmed;
    if (confirmed && !there) trial.outcome = trace::TrialOutcome::kGone;
    trial.id = planned.id;
    trial.first = planned.first;
    trial.second = planned.second;
  }
}

}  // namespace ss
