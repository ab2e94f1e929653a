#include "src/pipeline/deadlock.h"

#include <fmt/format.h>

#include <map>

namespace ss::pipeline {
namespace {

class Explainer {
 public:
  Explainer(const Program& program, const Stuck& stuck)
      : program_(program), state_(stuck.state), schedule_(stuck.schedule) {
    const Machine machine(program);
    for (uint32_t agent = 0; agent < state_.at.size(); ++agent) {
      const Step* step = machine.Next(state_, agent);
      if (!step) continue;
      const Phases& phases = state_.barriers[step->barrier];
      const uint32_t need = step->kind == Step::Kind::kMeet ? state_.meeting[agent] : step->need;
      agents_.push_back({{agent, state_.at[agent]},
                         step->barrier,
                         need,
                         phases.complete,
                         phases.pending,
                         phases.tx});
    }
  }

  std::vector<Finding> Run() {
    std::set<uint32_t> named;
    for (const StuckAgent& agent : agents_) {
      if (IsRoot(agent) && named.insert(Role(agent)).second) Name(agent, RootText(agent));
    }
    if (findings_.empty()) NameCircle();
    return std::move(findings_);
  }

 private:
  uint32_t Role(const StuckAgent& agent) const { return program_.agents[agent.at.agent].role; }
  const std::string& RoleName(const StuckAgent& agent) const {
    return program_.protocol->roles[Role(agent)].name;
  }

  // What `agent` would still do to a barrier if it got on.
  int64_t StillComing(const StuckAgent& agent, uint32_t barrier, bool bytes) const {
    const std::vector<Step>& steps = program_.StepsOf(agent.at.agent);
    int64_t sum = 0;
    for (size_t i = agent.at.step; i < steps.size(); ++i) {
      if (steps[i].barrier != barrier) continue;
      const bool arrives =
          steps[i].kind == Step::Kind::kArrive || steps[i].kind == Step::Kind::kDrop;
      if (bytes ? steps[i].kind == Step::Kind::kComplete : arrives) sum += steps[i].count;
    }
    return sum;
  }

  bool Helps(const StuckAgent& other, const StuckAgent& agent) const {
    if (other.at.agent == agent.at.agent) return false;
    return (agent.pending > 0 && StillComing(other, agent.barrier, false) > 0) ||
           (agent.tx > 0 && StillComing(other, agent.barrier, true) > 0);
  }

  // Not even everything that the stuck agents still have to do would let it pass.
  bool IsRoot(const StuckAgent& agent) const {
    if (agent.complete > agent.need) return true;
    int64_t arrivals = 0, bytes = 0;
    for (const StuckAgent& other : agents_) {
      if (other.at.agent == agent.at.agent) continue;
      arrivals += StillComing(other, agent.barrier, false);
      bytes += StillComing(other, agent.barrier, true);
    }
    const int64_t phases = int64_t{agent.need} - agent.complete - 1;
    const int64_t wanted = agent.pending + phases * state_.barriers[agent.barrier].expected;
    return arrivals < wanted || bytes < agent.tx;
  }

  std::string RootText(const StuckAgent& agent) const {
    const std::string barrier = program_.BarrierName(program_.barriers[agent.barrier]);
    const std::string waits =
        fmt::format("Role {} waits for phase {} of {}", RoleName(agent), agent.need, barrier);
    if (agent.complete > agent.need) {
      return fmt::format(
          "{} with parity {}, and {} are complete: by parity that phase has not come "
          "yet, and none is left to come.",
          waits, 1 - agent.need % 2, agent.complete);
    }
    std::string missing;
    if (agent.pending > 0)
      missing =
          fmt::format("{} of {} arrivals", agent.pending, state_.barriers[agent.barrier].expected);
    if (agent.tx > 0)
      missing +=
          fmt::format("{}{} bytes of a transaction", missing.empty() ? "" : " and ", agent.tx);
    return fmt::format(
        "{}, {} are complete; {} are missing and nobody is left who would bring them.", waits,
        agent.complete, missing);
  }

  // From the first stuck agent along who would help it, until an agent comes again.
  void NameCircle() {
    std::vector<size_t> path;
    std::map<size_t, size_t> position;
    for (size_t at = 0; !position.count(at);) {
      position[at] = path.size();
      path.push_back(at);
      size_t next = at;
      for (size_t i = agents_.size(); i-- > 0;) {
        if (Helps(agents_[i], agents_[at])) next = i;
      }
      if (next == at || position.count(next)) {
        path.erase(path.begin(), path.begin() + static_cast<long>(position[next]));
        break;
      }
      at = next;
    }
    std::string text = "Roles wait in a circle: ";
    size_t least = path[0];
    for (size_t i = 0; i < path.size(); ++i) {
      const StuckAgent& agent = agents_[path[i]];
      text += fmt::format("{}{} for phase {} of {}", i ? ", " : "", RoleName(agent), agent.need,
                          program_.BarrierName(program_.barriers[agent.barrier]));
      least = std::min(least, path[i]);
    }
    Name(agents_[least], text + ".");
  }

  void Name(const StuckAgent& agent, std::string text) {
    const std::vector<Step>& steps = program_.StepsOf(agent.at.agent);
    const Op& op = program_.protocol->roles[Role(agent)].ops[steps[agent.at.step].op];
    Finding finding;
    finding.code = "pipeline-deadlock";
    finding.subject = program_.OwnerName(program_.barriers[agent.barrier]);
    finding.role = RoleName(agent);
    finding.line = op.line;
    finding.column = op.column;
    finding.text = std::move(text);
    finding.schedule = schedule_;
    finding.stuck = agents_;
    findings_.push_back(std::move(finding));
  }

  const Program& program_;
  const State& state_;
  const Schedule& schedule_;
  std::vector<StuckAgent> agents_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> ExplainStuck(const Program& program, const Stuck& stuck) {
  return Explainer(program, stuck).Run();
}

}  // namespace ss::pipeline
