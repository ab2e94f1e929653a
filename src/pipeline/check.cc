#include "src/pipeline/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/pipeline/deadlock.h"
#include "src/pipeline/owners.h"
#include "src/pipeline/rules.h"

namespace ss::pipeline {
namespace {

class Checker {
 public:
  Checker(const Program& program, const CheckOptions& options)
      : program_(program), options_(options) {}

  Verdict Run() {
    verdict_.agents = program_.agents.size();
    for (const Agent& agent : program_.agents) verdict_.steps += program_.steps[agent.role].size();
    verdict_.findings = FindStrangers(program_);
    const Graph graph = BuildGraph(program_);
    verdict_.safe = graph.safe;
    if (graph.safe) {
      TakeGraph(graph);
    } else {
      TakeSearch(Search(program_, graph, options_.max_states));
      if (!verdict_.exhaustive) TakeUndecided(graph);
    }
    Absorb();
    return std::move(verdict_);
  }

 private:
  const Op& OpOf(EventRef event) const {
    const uint32_t role = program_.agents[event.agent].role;
    return program_.protocol->roles[role].ops[program_.steps[role][event.step].op];
  }
  const std::string& RoleOf(EventRef event) const {
    return program_.protocol->roles[program_.agents[event.agent].role].name;
  }

  // Every schedule ends in the same place and orders the same accesses.
  void TakeGraph(const Graph& graph) {
    if (!graph.finished) {
      HeldRun run = Held({});
      TakeStuck(StuckRoles(program_, run.state), {run.state, run.schedule});
    }
    size_t shown = 0;
    for (const auto& [key, pair] : graph.races) {
      const bool scheduled = ++shown <= kMaxSchedules;
      Schedule schedule = scheduled ? Held({pair.first, pair.second}).schedule : Schedule{};
      AddRace({pair.first, pair.second, std::move(schedule), scheduled}, true);
    }
  }

  HeldRun Held(const std::vector<EventRef>& held) const {
    std::vector<size_t> holds(program_.agents.size(), SIZE_MAX);
    for (EventRef event : held) holds[event.agent] = event.step;
    return RunHeld(program_, holds);
  }

  void TakeSearch(const SearchResult& result) {
    verdict_.exhaustive = result.exhaustive;
    verdict_.states = result.states;
    for (const auto& [roles, stuck] : result.stuck) TakeStuck(roles, stuck);
    for (const auto& [key, risky] : result.early) AddRisk(risky, true, true);
    for (const auto& [key, risky] : result.overtaken) AddRisk(risky, false, true);
    for (const auto& [key, racing] : result.races) AddRace(racing, true);
  }

  // What the graph suspects and the search had no time to find.
  void TakeUndecided(const Graph& graph) {
    for (const WaitRisk& risk : graph.risks) AddRisk({risk.wait, 0, {}}, risk.early, false);
    for (const auto& [key, pair] : graph.races) AddRace({pair.first, pair.second, {}}, false);
  }

  void TakeStuck(const std::set<uint32_t>& roles, const Stuck& stuck) {
    if (!RuleOn(Rule::kCyclesHang) && stuck.state.at.size() > 1 && roles.size() > 1) return;
    std::set<std::string>& names = verdict_.stuck.emplace_back();
    for (uint32_t role : roles) names.insert(program_.protocol->roles[role].name);
    for (Finding& finding : ExplainStuck(program_, stuck)) Add(std::move(finding));
  }

  void AddRisk(const Risky& risky, bool early, bool certain) {
    const Step& step = program_.StepsOf(risky.wait.agent)[risky.wait.step];
    const Barrier& barrier = program_.barriers[step.barrier];
    Finding finding = At(risky.wait, early ? "pipeline-early" : "pipeline-overtake", certain);
    finding.subject = program_.OwnerName(barrier);
    const std::string waits = fmt::format("Role {} waits for phase {} of {}", finding.role,
                                          step.need, program_.BarrierName(barrier));
    if (!certain) {
      finding.text = waits + (early ? " and may pass two phases early."
                                    : " and the barrier may complete a further one meanwhile.");
    } else if (early) {
      finding.text = fmt::format(
          "{}; with {} complete the parity is the same, and it passes: its data "
          "is not there yet.",
          waits, risky.complete);
    } else {
      finding.text = fmt::format(
          "{}, and the barrier goes on to phase {} before it has looked: by parity "
          "{}.",
          waits, risky.complete,
          (risky.complete - step.need) % 2
              ? "it has not come yet, and the role waits for another one"
              : "it passes, and has missed a lap");
    }
    finding.schedule = risky.schedule;
    finding.scheduled = certain && risky.scheduled;
    Add(std::move(finding));
  }

  void AddRace(const Racing& racing, bool certain) {
    Finding finding = At(racing.first, "pipeline-race", certain);
    const Step& first = program_.StepsOf(racing.first.agent)[racing.first.step];
    const Step& second = program_.StepsOf(racing.second.agent)[racing.second.step];
    const Buffer& buffer = program_.buffers[first.barrier];
    finding.subject = program_.protocol->pipes[buffer.pipe].name;
    finding.other = RoleOf(racing.second);
    finding.other_line = OpOf(racing.second).line;
    finding.text = fmt::format("{} {} stage {} of {} while {} {} it: nothing orders the two.",
                               finding.role, first.write ? "writes" : "reads", buffer.stage,
                               finding.subject, finding.other, second.write ? "writes" : "reads");
    finding.schedule = racing.schedule;
    finding.scheduled = certain && racing.scheduled;
    Add(std::move(finding));
  }

  Finding At(EventRef event, const char* code, bool certain) const {
    Finding finding;
    finding.code = code;
    finding.role = RoleOf(event);
    finding.line = OpOf(event).line;
    finding.column = OpOf(event).column;
    finding.certain = certain;
    return finding;
  }

  // One finding a code, subject and pair of roles; of deadlocks one a role.
  void Add(Finding finding) {
    const bool deadlock = finding.code == "pipeline-deadlock";
    const auto [least, most] = std::minmax(finding.role, finding.other);
    if (!known_.insert({finding.code, deadlock ? "" : finding.subject, least, most}).second) return;
    verdict_.findings.push_back(std::move(finding));
  }

  bool IsStuck(const std::string& role) const {
    return std::any_of(verdict_.stuck.begin(), verdict_.stuck.end(),
                       [&](const std::set<std::string>& roles) { return roles.count(role) > 0; });
  }

  void Absorb() {
    std::set<std::string> wrong_owner;
    for (const Finding& finding : verdict_.findings) {
      if (finding.code == "pipeline-owner") wrong_owner.insert(finding.subject);
    }
    for (Finding& finding : verdict_.findings) {
      if (finding.code == "pipeline-owner" || finding.code == "pipeline-deadlock") continue;
      finding.absorbed = wrong_owner.count(finding.subject) ||
                         (finding.code == "pipeline-overtake" && IsStuck(finding.role));
    }
  }

  const Program& program_;
  const CheckOptions options_;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> known_;
  Verdict verdict_;
};

}  // namespace

uint64_t Verdict::Hazards() const {
  return static_cast<uint64_t>(std::count_if(findings.begin(), findings.end(),
                                             [](const Finding& one) { return !one.absorbed; }));
}

Verdict Check(const Program& program, const CheckOptions& options) {
  return Checker(program, options).Run();
}

}  // namespace ss::pipeline
