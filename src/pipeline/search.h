// Decides what the event graph could only suspect: every schedule of the parts of a protocol that
// are not safe, run as the hardware runs it. Operations on safe barriers and on barriers of
// nobody's concern commute with all others and are taken at once, in one order; so an unsafe tail
// in a large kernel costs a handful of states, and only a protocol that is broken all over costs
// many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "src/pipeline/graph.h"
#include "src/pipeline/machine.h"

namespace ss::pipeline {

using Schedule = std::vector<EventRef>;  // steps in the order in which they run

// What happened in some schedule, with that schedule; it ends in the state that is described.
struct Stuck {
  State state;
  Schedule schedule;
};
struct Risky {
  EventRef wait;
  uint32_t complete = 0;  // phases of its barrier while it waits
  Schedule schedule;
  bool scheduled = true;  // false: one of too many
};
struct Racing {
  EventRef first, second;  // both may be next
  Schedule schedule;
  bool scheduled = true;
};

// Schedules may be long: of each kind of finding, later ones come without.
constexpr size_t kMaxSchedules = 64;

// (kind of barrier's owner: 0 pipe, 1 mbarrier; owner; role)
using RiskKey = std::tuple<uint32_t, uint32_t, uint32_t>;

struct SearchResult {
  bool exhaustive = true;
  uint64_t states = 0;
  std::map<std::set<uint32_t>, Stuck> stuck;  // by the roles that do not get on
  std::map<RiskKey, Risky> early, overtaken;
  std::map<RaceKey, Racing> races;
};

// Ends early, not exhaustive, after `max_states`, or where they would take more than
// kMaxSearchBytes.
constexpr uint64_t kMaxSearchBytes = uint64_t{512} << 20;
SearchResult Search(const Program& program, const Graph& graph, uint64_t max_states);

// Runs everything that can run, but no agent beyond its hold (a step index; SIZE_MAX = none). The
// schedule of a safe protocol: there the order does not matter.
struct HeldRun {
  State state;
  Schedule schedule;
};
HeldRun RunHeld(const Program& program, const std::vector<size_t>& holds);

std::set<uint32_t> StuckRoles(const Program& program, const State& state);

}  // namespace ss::pipeline
