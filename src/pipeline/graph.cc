#include "src/pipeline/graph.h"

#include "src/pipeline/clocks.h"
#include "src/pipeline/rules.h"

namespace ss::pipeline {
namespace {

constexpr uint32_t kMaxRounds = 64;

// Repeats the run until no wait is early and no barrier mixed that was not so before.
class Builder {
 public:
  explicit Builder(const Program& program) : program_(program) {
    mixed_.resize(program.barriers.size());
    for (const std::vector<Step>& steps : program.steps) {
      std::vector<uint32_t>& needs = needs_.emplace_back();
      for (const Step& step : steps) needs.push_back(step.need);
    }
  }

  Graph Run() {
    for (uint32_t round = 1;; ++round) {
      // Each round may uncover the next early wait. What takes so many is left to the search.
      if (round > kMaxRounds) mixed_.assign(mixed_.size(), true);
      graph_ = Graph{};
      ClockRun run(program_, needs_, mixed_);
      run.Run();
      if (MarkMixed(run)) continue;
      bool lowered = false;
      for (const ReachedWait& wait : run.waits()) lowered |= JudgeWait(run, wait);
      if (lowered) continue;
      Finish(run);
      return std::move(graph_);
    }
  }

 private:
  bool MarkMixed(const ClockRun& run) {
    bool found = false;
    for (uint32_t i = 0; i < mixed_.size(); ++i) {
      if (mixed_[i] || !run.Mixed(i)) continue;
      mixed_[i] = true;
      found = true;
    }
    return found;
  }

  // True when the wait's need was lowered, and the run is to be repeated.
  bool JudgeWait(const ClockRun& run, const ReachedWait& wait) {
    const Step& step = program_.StepsOf(wait.event.agent)[wait.event.step];
    if (mixed_[step.barrier] || step.kind != Step::Kind::kWait) return false;
    const uint32_t complete = run.Complete(step.barrier);
    bool lowered = false;
    if (wait.known + 2 <= step.need && RuleOn(Rule::kEarlyAlias)) {
      // The least phase of the same parity that is there, or comes without this agent.
      const uint32_t phase = wait.known + (step.need - wait.known) % 2;
      if (phase <= complete) {
        graph_.risks.push_back({wait.event, step.barrier, true});
        uint32_t& need = needs_[program_.agents[wait.event.agent].role][wait.event.step];
        lowered = phase < need;
        need = std::min(need, phase);
      }
    }
    if (complete > step.need && RuleOn(Rule::kOvertaken) &&
        !run.PhaseWaitsFor(step.barrier, step.need, wait.event)) {
      graph_.risks.push_back({wait.event, step.barrier, false});
    }
    return lowered;
  }

  void Finish(const ClockRun& run) {
    graph_.finished = run.finished();
    graph_.races = run.races();
    graph_.unsafe_barriers = mixed_;
    for (const WaitRisk& risk : graph_.risks) graph_.unsafe_barriers[risk.barrier] = true;
    for (bool unsafe : graph_.unsafe_barriers) graph_.safe = graph_.safe && !unsafe;
  }

  const Program& program_;
  std::vector<std::vector<uint32_t>> needs_;  // a role's steps; lowered where a wait can be early
  std::vector<bool> mixed_;
  Graph graph_;
};

}  // namespace

Graph BuildGraph(const Program& program) { return Builder(program).Run(); }

}  // namespace ss::pipeline
