// The event graph of a protocol: which barriers are safe in *every* schedule, and which accesses
// are unordered, in time that grows with the number of steps times the number of agents.
//
// Waits are taken as monotone ("at least `need` phases"), which is what parity waits are as long as
// rule 27 holds. Then the protocol is persistent: nothing that can run is ever disabled by another
// role, so one run, in any order, reaches everything that any schedule reaches, and vector clocks
// of that run say what is ordered in all of them. Two things can break this, and are found here:
//   - a phase whose arrivals are not the same ones in every schedule: the barrier is `mixed`, and
//     its waits order nothing and hold nobody;
//   - a wait that can pass two phases early: it is given the earlier phase as its need, and the run
//     is repeated, until nothing is new.
// So the graph allows at least what the hardware allows. A barrier that is safe in it is safe; what
// it says of an unsafe one is a candidate, which src/pipeline/search.h decides.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "src/pipeline/steps.h"

namespace ss::pipeline {

struct EventRef {
  uint32_t agent = 0, step = 0;
};

struct RacePair {
  uint32_t buffer = 0;
  EventRef first, second;
};

struct WaitRisk {
  EventRef wait;
  uint32_t barrier = 0;
  bool early = false;  // else overtaken
};

// (pipe, role, role), the smaller role first
using RaceKey = std::tuple<uint32_t, uint32_t, uint32_t>;

struct Graph {
  bool finished = false;              // every agent reached its end
  bool safe = true;                   // every barrier is: what is said here is exact
  std::vector<bool> unsafe_barriers;  // mixed, or a wait on it is at risk
  std::vector<WaitRisk> risks;
  std::map<RaceKey, RacePair> races;  // one pair each
};

Graph BuildGraph(const Program& program);

}  // namespace ss::pipeline
