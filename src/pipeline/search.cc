#include "src/pipeline/search.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "src/pipeline/rules.h"

namespace ss::pipeline {
namespace {

void Append(std::string& key, uint64_t value) {
  for (; value >= 0x80; value >>= 7) key.push_back(static_cast<char>(value | 0x80));
  key.push_back(static_cast<char>(value));
}

class Searcher {
 public:
  Searcher(const Program& program, const Graph& graph, uint64_t max_states)
      : program_(program), graph_(graph), machine_(program) {
    const uint64_t bytes = 256 + program.agents.size() * 2 * sizeof(uint32_t) +
                           program.barriers.size() * sizeof(Phases);
    max_states_ = std::min(max_states, kMaxSearchBytes / bytes);
    for (const auto& [key, pair] : graph.races) {
      watched_.insert({std::get<0>(key), std::get<1>(key)});
      watched_.insert({std::get<0>(key), std::get<2>(key)});
    }
  }

  SearchResult Run() {
    Enter(machine_.Start(), kNone, 0);
    while (!stack_.empty()) {
      if (result_.states >= max_states_) {
        result_.exhaustive = false;
        break;
      }
      Frame& top = stack_.back();
      if (top.next == top.choices.size()) {
        stack_.pop_back();
        continue;
      }
      const uint32_t agent = top.choices[top.next++];
      State state = top.state;
      const uint32_t parent = top.node;
      machine_.Advance(state, agent);
      Enter(std::move(state), parent, agent);
    }
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Node {
    uint32_t parent = kNone, agent = 0;
  };
  struct Frame {
    State state;
    std::vector<uint32_t> choices;
    size_t next = 0;
    uint32_t node = 0;
  };

  // A step that no other can hinder and that hinders none.
  bool TakenAtOnce(const Step& step, uint32_t agent) const {
    if (step.kind == Step::Kind::kNothing) return true;
    if (step.kind == Step::Kind::kAccess) return !Watched(step, agent);
    return !graph_.unsafe_barriers[step.barrier];
  }

  bool Watched(const Step& step, uint32_t agent) const {
    return watched_.count({program_.buffers[step.barrier].pipe, program_.agents[agent].role}) > 0;
  }

  void TakeAtOnce(State& state, Schedule* schedule) const {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t agent = 0; agent < state.at.size(); ++agent) {
        while (machine_.Enabled(state, agent) && TakenAtOnce(*machine_.Next(state, agent), agent)) {
          if (schedule) schedule->push_back({agent, state.at[agent]});
          machine_.Advance(state, agent);
          moved = true;
        }
      }
    }
  }

  void Enter(State state, uint32_t parent, uint32_t agent) {
    TakeAtOnce(state, nullptr);
    if (!seen_.insert(Key(state)).second) return;
    ++result_.states;
    nodes_.push_back({parent, agent});
    Frame frame{std::move(state), {}, 0, static_cast<uint32_t>(nodes_.size() - 1)};
    Judge(frame.state, frame.node);
    frame.choices = Choices(frame.state);
    if (frame.choices.empty()) return NoteEnd(frame.state, frame.node);
    stack_.push_back(std::move(frame));
  }

  // Warps of a role run the same text: states that differ in which warp is where are one.
  std::string Key(const State& state) const {
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> agents;
    for (uint32_t i = 0; i < state.at.size(); ++i) {
      const Step* step = machine_.Next(state, i);
      const bool meets = step && step->kind == Step::Kind::kMeet;
      agents.push_back({program_.agents[i].role, state.at[i], meets ? state.meeting[i] : 0});
    }
    std::sort(agents.begin(), agents.end());
    std::string key;
    for (const auto& [role, at, meeting] : agents) {
      Append(key, at);
      Append(key, meeting);
    }
    for (uint32_t i = 0; i < state.barriers.size(); ++i) {
      if (!graph_.unsafe_barriers[i]) continue;  // follows from where the agents are
      const Phases& phases = state.barriers[i];
      for (int64_t value : {int64_t{phases.complete}, phases.pending, phases.tx, phases.expected})
        Append(key, static_cast<uint64_t>(value));
    }
    return key;
  }

  std::vector<uint32_t> Choices(const State& state) const {
    std::vector<uint32_t> choices;
    for (uint32_t i = 0; i < state.at.size(); ++i) {
      if (!machine_.Enabled(state, i)) continue;
      bool alike = std::any_of(choices.begin(), choices.end(), [&](uint32_t other) {
        return program_.agents[other].role == program_.agents[i].role &&
               state.at[other] == state.at[i] && state.meeting[other] == state.meeting[i];
      });
      if (!alike) choices.push_back(i);
    }
    return choices;
  }

  void Judge(const State& state, uint32_t node) {
    for (uint32_t i = 0; i < state.at.size(); ++i) {
      const Step* step = machine_.Next(state, i);
      if (step == nullptr) continue;
      if (step->kind == Step::Kind::kWait) JudgeWait(state, i, *step, node);
      if (step->kind == Step::Kind::kAccess) JudgeAccess(state, i, *step, node);
    }
  }

  void JudgeWait(const State& state, uint32_t agent, const Step& step, uint32_t node) {
    const uint32_t complete = state.barriers[step.barrier].complete;
    const bool early = complete + 2 <= step.need && (step.need - complete) % 2 == 0;
    if (!early && complete <= step.need) return;
    if (early ? !RuleOn(Rule::kEarlyAlias) : !RuleOn(Rule::kOvertaken)) return;
    const Barrier& barrier = program_.barriers[step.barrier];
    RiskKey key{barrier.kind == Barrier::Kind::kMbar, barrier.owner, program_.agents[agent].role};
    auto& found = early ? result_.early : result_.overtaken;
    if (found.count(key)) return;
    const bool scheduled = found.size() < kMaxSchedules;
    found[key] = {
        {agent, state.at[agent]}, complete, scheduled ? ScheduleOf(node) : Schedule{}, scheduled};
  }

  void JudgeAccess(const State& state, uint32_t agent, const Step& step, uint32_t node) {
    const uint32_t role = program_.agents[agent].role;
    const uint32_t pipe = program_.buffers[step.barrier].pipe;
    for (uint32_t other = 0; other < agent; ++other) {
      const Step* against = machine_.Next(state, other);
      const uint32_t other_role = program_.agents[other].role;
      if (!against || against->kind != Step::Kind::kAccess || other_role == role) continue;
      if (against->barrier != step.barrier || !(against->write || step.write)) continue;
      const Pipe& sides = program_.protocol->pipes[pipe];
      if (against->write && step.write && RuleOn(Rule::kPartsOfOneStage) &&
          sides.producers.Has(role) && sides.producers.Has(other_role))
        continue;
      RaceKey key{pipe, std::min(role, other_role), std::max(role, other_role)};
      if (result_.races.count(key)) continue;
      const bool scheduled = result_.races.size() < kMaxSchedules;
      result_.races[key] = {{other, state.at[other]},
                            {agent, state.at[agent]},
                            scheduled ? ScheduleOf(node) : Schedule{},
                            scheduled};
    }
  }

  void NoteEnd(const State& state, uint32_t node) {
    std::set<uint32_t> roles = StuckRoles(program_, state);
    if (roles.empty() || result_.stuck.count(roles)) return;
    if (result_.stuck.size() < kMaxSchedules) {
      result_.stuck[roles] = {state, ScheduleOf(node)};
    } else {
      result_.exhaustive = false;  // more ways to hang than anybody reads
    }
  }

  Schedule ScheduleOf(uint32_t node) const {
    std::vector<uint32_t> agents;
    for (; nodes_[node].parent != kNone; node = nodes_[node].parent)
      agents.push_back(nodes_[node].agent);
    Schedule schedule;
    State state = machine_.Start();
    TakeAtOnce(state, &schedule);
    for (auto agent = agents.rbegin(); agent != agents.rend(); ++agent) {
      schedule.push_back({*agent, state.at[*agent]});
      machine_.Advance(state, *agent);
      TakeAtOnce(state, &schedule);
    }
    return schedule;
  }

  const Program& program_;
  const Graph& graph_;
  const Machine machine_;
  uint64_t max_states_;
  std::set<std::pair<uint32_t, uint32_t>> watched_;  // (pipe, role) whose accesses may race
  std::unordered_set<std::string> seen_;
  std::vector<Node> nodes_;
  std::vector<Frame> stack_;
  SearchResult result_;
};

}  // namespace

SearchResult Search(const Program& program, const Graph& graph, uint64_t max_states) {
  return Searcher(program, graph, max_states).Run();
}

HeldRun RunHeld(const Program& program, const std::vector<size_t>& holds) {
  const Machine machine(program);
  HeldRun run{machine.Start(), {}};
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t agent = 0; agent < run.state.at.size(); ++agent) {
      while (run.state.at[agent] < holds[agent] && machine.Enabled(run.state, agent)) {
        run.schedule.push_back({agent, run.state.at[agent]});
        machine.Advance(run.state, agent);
        moved = true;
      }
    }
  }
  return run;
}

std::set<uint32_t> StuckRoles(const Program& program, const State& state) {
  std::set<uint32_t> roles;
  for (uint32_t agent = 0; agent < state.at.size(); ++agent) {
    if (state.at[agent] < program.StepsOf(agent).size()) roles.insert(program.agents[agent].role);
  }
  return roles;
}

}  // namespace ss::pipeline
