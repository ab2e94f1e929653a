// One run of a protocol with monotone waits and vector clocks. Only src/pipeline includes this.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "src/pipeline/graph.h"
#include "src/pipeline/machine.h"

namespace ss::pipeline {

struct ReachedWait {
  EventRef event;
  uint32_t known = 0;  // phases of its barrier that are complete in every schedule by then
};

class ClockRun {
 public:
  // `needs`: a role's steps; `mixed`: barriers whose waits order nothing and hold nobody.
  ClockRun(const Program& program, const std::vector<std::vector<uint32_t>>& needs,
           const std::vector<bool>& mixed);

  void Run();

  bool finished() const;
  const std::vector<ReachedWait>& waits() const { return waits_; }
  const std::map<RaceKey, RacePair>& races() const { return races_; }
  uint32_t Complete(uint32_t barrier) const { return barriers_[barrier].phases.complete; }

  // Can an arrival take part in another phase in another schedule, or a phase be complete before
  // all of its participants are there?
  bool Mixed(uint32_t barrier) const;

  // Does some participant of phase `phase` (0 = the first) come after the event?
  bool PhaseWaitsFor(uint32_t barrier, uint32_t phase, EventRef event) const;

 private:
  // Counts of an agent's steps that are known to be complete, one an agent.
  using Clock = std::vector<uint32_t>;

  struct Phase {
    Clock first, last;         // its participants, by agent: step + 1; 0 = none
    Clock last_expect;         // those that add bytes
    Clock joined, arrivals;    // join over all participants; over those that arrive
    std::vector<uint32_t> by;  // agents that take part
  };
  struct Bar {
    Phases phases;
    std::vector<Phase> history;  // complete ones and the present one
    std::vector<Clock> passed;   // what a wait for phase i + 1 acquires
    std::vector<uint32_t> waiting;
    bool spills = false;  // an arrival counted for two phases
  };
  struct Touch {
    uint32_t read = 0, write = 0;  // an agent's last, step + 1
  };

  void RunAgent(uint32_t agent);
  bool Pass(uint32_t agent, const Step& step, uint32_t index);
  void Arrive(uint32_t agent, const Step& step, uint32_t index);
  void Take(Phase& phase, uint32_t agent, const Step& step, uint32_t index);
  void ClosePhase(Bar& bar);
  void Access(uint32_t agent, const Step& step, uint32_t index);
  void NoteRace(uint32_t buffer, EventRef first, EventRef second);
  uint32_t Known(uint32_t agent, uint32_t barrier);
  Phase NewPhase() const;
  bool Follows(const Phase& later, const Phase& earlier) const;

  uint32_t At(uint32_t agent, uint32_t step, uint32_t other) const {
    return stored_[agent][size_t{step} * agents_ + other];
  }

  const Program& program_;
  const std::vector<std::vector<uint32_t>>& needs_;
  const std::vector<bool>& mixed_;
  const uint32_t agents_;
  std::vector<uint32_t> at_;
  std::vector<uint32_t> meeting_;
  std::vector<Clock> clocks_;
  std::vector<std::vector<uint32_t>> stored_;  // an agent: its clock behind each step
  std::vector<std::vector<uint32_t>> known_;   // an agent: by barrier
  std::vector<Bar> barriers_;
  std::vector<std::vector<Touch>> touched_;  // a buffer: by agent
  std::deque<uint32_t> ready_;
  std::vector<ReachedWait> waits_;
  std::vector<bool> noted_;  // an agent: its present wait is in waits_
  std::map<RaceKey, RacePair> races_;
};

}  // namespace ss::pipeline
