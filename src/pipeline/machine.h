// Runs a lowered protocol as the hardware does: waits see a parity, nothing else. Schedules that a
// report shows were run here.
#pragma once

#include <cstdint>
#include <vector>

#include "src/pipeline/steps.h"

namespace ss::pipeline {

// Rule 25. `pending` may go below zero: arrivals beyond a phase whose bytes are missing count for
// the next one.
struct Phases {
  uint32_t complete = 0;  // k
  int64_t pending = 0;    // p
  int64_t tx = 0;
  int64_t expected = 0;  // E

  void Apply(const Step& step);
};

struct State {
  std::vector<uint32_t> at;       // an agent: the next step
  std::vector<uint32_t> meeting;  // an agent: phases that its last named-barrier arrival waits for
  std::vector<Phases> barriers;
};

class Machine {
 public:
  explicit Machine(const Program& program) : program_(program) {}

  State Start() const;
  const Step* Next(const State& state, uint32_t agent) const;  // null = at its end
  bool Enabled(const State& state, uint32_t agent) const;
  void Advance(State& state, uint32_t agent) const;  // Enabled() holds

 private:
  const Program& program_;
};

}  // namespace ss::pipeline
