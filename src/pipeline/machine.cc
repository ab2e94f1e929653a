#include "src/pipeline/machine.h"

#include "src/pipeline/rules.h"

namespace ss::pipeline {

void Phases::Apply(const Step& step) {
  const int64_t count = RuleOn(Rule::kArrivalsCounted) ? int64_t{step.count} : expected;
  switch (step.kind) {
    case Step::Kind::kDrop:
      pending -= count;
      if (RuleOn(Rule::kDropLowers)) expected -= step.count;
      break;
    case Step::Kind::kArrive:
      pending -= count;
      break;
    case Step::Kind::kExpect:
      if (RuleOn(Rule::kTxHoldsBack)) tx += step.count;
      break;
    default:
      if (RuleOn(Rule::kTxHoldsBack)) tx -= step.count;
  }
  if (pending > 0 || tx != 0) return;
  do {
    ++complete;
    pending += expected;
  } while (expected > 0 && pending <= 0);
}

State Machine::Start() const {
  State state;
  state.at.resize(program_.agents.size());
  state.meeting.resize(program_.agents.size());
  for (const Barrier& barrier : program_.barriers)
    state.barriers.push_back({0, barrier.expected, 0, barrier.expected});
  return state;
}

const Step* Machine::Next(const State& state, uint32_t agent) const {
  const std::vector<Step>& steps = program_.StepsOf(agent);
  return state.at[agent] < steps.size() ? &steps[state.at[agent]] : nullptr;
}

bool Machine::Enabled(const State& state, uint32_t agent) const {
  const Step* step = Next(state, agent);
  if (step == nullptr) return false;
  if (!step->Waits()) return true;
  const uint32_t complete = state.barriers[step->barrier].complete;
  if (step->kind == Step::Kind::kMeet) return complete >= state.meeting[agent];
  if (!RuleOn(Rule::kParityHangs)) return complete >= step->need;
  return complete % 2 == step->need % 2;
}

void Machine::Advance(State& state, uint32_t agent) const {
  const Step& step = *Next(state, agent);
  ++state.at[agent];
  if (!step.OnBarrier() || step.Waits()) return;
  Phases& phases = state.barriers[step.barrier];
  state.meeting[agent] = phases.complete + 1;
  phases.Apply(step);
}

}  // namespace ss::pipeline
