#include "src/pipeline/clocks.h"

#include <algorithm>

#include "src/pipeline/rules.h"

namespace ss::pipeline {
namespace {

void Join(std::vector<uint32_t>& into, const std::vector<uint32_t>& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

bool Contains(const std::vector<uint32_t>& clock, const std::vector<uint32_t>& events) {
  for (size_t i = 0; i < clock.size(); ++i) {
    if (clock[i] < events[i]) return false;
  }
  return true;
}

}  // namespace

ClockRun::ClockRun(const Program& program, const std::vector<std::vector<uint32_t>>& needs,
                   const std::vector<bool>& mixed)
    : program_(program),
      needs_(needs),
      mixed_(mixed),
      agents_(static_cast<uint32_t>(program.agents.size())),
      at_(agents_),
      meeting_(agents_),
      clocks_(agents_, Clock(agents_)),
      stored_(agents_),
      known_(agents_, std::vector<uint32_t>(program.barriers.size())),
      touched_(program.buffers.size(), std::vector<Touch>(agents_)),
      noted_(agents_) {
  for (uint32_t agent = 0; agent < agents_; ++agent) {
    stored_[agent].reserve(program.StepsOf(agent).size() * agents_);
    ready_.push_back(agent);
  }
  for (const Barrier& barrier : program.barriers) {
    Bar& bar = barriers_.emplace_back();
    bar.phases = {0, barrier.expected, 0, barrier.expected};
    bar.history.push_back(NewPhase());
  }
}

void ClockRun::Run() {
  while (!ready_.empty()) {
    uint32_t agent = ready_.front();
    ready_.pop_front();
    RunAgent(agent);
  }
}

bool ClockRun::finished() const {
  for (uint32_t agent = 0; agent < agents_; ++agent) {
    if (at_[agent] < program_.StepsOf(agent).size()) return false;
  }
  return true;
}

void ClockRun::RunAgent(uint32_t agent) {
  const std::vector<Step>& steps = program_.StepsOf(agent);
  for (uint32_t& at = at_[agent]; at < steps.size(); ++at) {
    const Step& step = steps[at];
    if (step.Waits() && !Pass(agent, step, at)) return;
    Clock& clock = clocks_[agent];
    clock[agent] = at + 1;
    if (step.kind == Step::Kind::kAccess) Access(agent, step, at);
    stored_[agent].insert(stored_[agent].end(), clock.begin(), clock.end());
    if (step.OnBarrier() && !step.Waits()) Arrive(agent, step, at);
  }
}

bool ClockRun::Pass(uint32_t agent, const Step& step, uint32_t index) {
  Bar& bar = barriers_[step.barrier];
  if (!noted_[agent]) waits_.push_back({{agent, index}, Known(agent, step.barrier)});
  noted_[agent] = true;
  const bool meets = step.kind == Step::Kind::kMeet;
  const uint32_t need = meets ? meeting_[agent] : needs_[program_.agents[agent].role][index];
  if (!mixed_[step.barrier]) {
    if (bar.phases.complete < need) {
      bar.waiting.push_back(agent);
      return false;
    }
    if (need > 0 && RuleOn(Rule::kBarrierOrders)) Join(clocks_[agent], bar.passed[need - 1]);
  }
  noted_[agent] = false;
  return true;
}

ClockRun::Phase ClockRun::NewPhase() const {
  const Clock zero(agents_);
  return {zero, zero, zero, zero, zero, {}};
}

void ClockRun::Arrive(uint32_t agent, const Step& step, uint32_t index) {
  Bar& bar = barriers_[step.barrier];
  meeting_[agent] = bar.phases.complete + 1;
  const uint32_t before = bar.phases.complete;
  Take(bar.history.back(), agent, step, index);
  bar.phases.Apply(step);
  bar.spills |= bar.phases.complete > before + 1 || bar.phases.pending < 0 ||
                (bar.phases.complete > before && bar.phases.pending < bar.phases.expected);
  for (uint32_t i = before; i < bar.phases.complete; ++i) ClosePhase(bar);
  if (bar.phases.complete == before) return;
  ready_.insert(ready_.end(), bar.waiting.begin(), bar.waiting.end());
  bar.waiting.clear();
}

void ClockRun::Take(Phase& phase, uint32_t agent, const Step& step, uint32_t index) {
  if (phase.first[agent] == 0) {
    phase.first[agent] = index + 1;
    phase.by.push_back(agent);
  }
  phase.last[agent] = index + 1;
  Join(phase.joined, clocks_[agent]);
  if (step.kind == Step::Kind::kExpect) phase.last_expect[agent] = index + 1;
  if (step.kind == Step::Kind::kArrive || step.kind == Step::Kind::kDrop)
    Join(phase.arrivals, clocks_[agent]);
}

void ClockRun::ClosePhase(Bar& bar) {
  Clock clock = bar.history.back().joined;
  if (!bar.passed.empty()) Join(clock, bar.passed.back());
  bar.passed.push_back(std::move(clock));
  bar.history.push_back(NewPhase());
}

uint32_t ClockRun::Known(uint32_t agent, uint32_t barrier) {
  const Bar& bar = barriers_[barrier];
  uint32_t& known = known_[agent][barrier];
  while (known < bar.phases.complete && Contains(clocks_[agent], bar.history[known].last)) ++known;
  return known;
}

// An agent's first participant in the later phase must come after all of the earlier phase.
bool ClockRun::Follows(const Phase& later, const Phase& earlier) const {
  for (uint32_t agent : later.by) {
    for (uint32_t other : earlier.by) {
      if (At(agent, later.first[agent] - 1, other) < earlier.last[other]) return false;
    }
  }
  return true;
}

bool ClockRun::Mixed(uint32_t barrier) const {
  const Bar& bar = barriers_[barrier];
  // More bytes came than were announced: some of them alone may have closed the phase.
  if (bar.spills || bar.phases.tx < 0) return true;
  for (size_t i = 0; i < bar.history.size(); ++i) {
    // Bytes that are announced behind the last arrival come too late to hold the phase back.
    if (!Contains(bar.history[i].arrivals, bar.history[i].last_expect)) return true;
    if (i > 0 && !Follows(bar.history[i], bar.history[i - 1])) return true;
  }
  return false;
}

bool ClockRun::PhaseWaitsFor(uint32_t barrier, uint32_t phase, EventRef event) const {
  return barriers_[barrier].history[phase].joined[event.agent] > event.step;
}

void ClockRun::Access(uint32_t agent, const Step& step, uint32_t index) {
  std::vector<Touch>& touched = touched_[step.barrier];
  const Pipe& pipe = program_.protocol->pipes[program_.buffers[step.barrier].pipe];
  const uint32_t role = program_.agents[agent].role;
  for (uint32_t other = 0; other < agents_; ++other) {
    const uint32_t other_role = program_.agents[other].role;
    if (other_role == role) continue;
    const bool parts = pipe.producers.Has(role) && pipe.producers.Has(other_role) &&
                       RuleOn(Rule::kPartsOfOneStage);
    uint32_t last = step.write ? touched[other].read : 0;
    if (!(step.write && parts)) last = std::max(last, touched[other].write);
    if (last > clocks_[agent][other]) NoteRace(step.barrier, {other, last - 1}, {agent, index});
  }
  (step.write ? touched[agent].write : touched[agent].read) = index + 1;
}

void ClockRun::NoteRace(uint32_t buffer, EventRef first, EventRef second) {
  uint32_t a = program_.agents[first.agent].role, b = program_.agents[second.agent].role;
  races_.try_emplace({program_.buffers[buffer].pipe, std::min(a, b), std::max(a, b)},
                     RacePair{buffer, first, second});
}

}  // namespace ss::pipeline
