// The verdict on a protocol, for every schedule (docs/semantics.md, rules 25-30).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/pipeline/search.h"
#include "src/pipeline/steps.h"

namespace ss::pipeline {

struct CheckOptions {
  uint64_t max_states = 200'000;  // of the search behind an unsafe event graph
};

// An agent that does not get on.
struct StuckAgent {
  EventRef at;
  uint32_t barrier = 0;
  uint32_t need = 0, complete = 0;
  int64_t pending = 0, tx = 0;
};

struct Finding {
  std::string code;     // pipeline-owner, ...
  std::string subject;  // pipeline or mbarrier; pipeline-deadlock: what its role waits on
  std::string role, other;
  uint32_t line = 0, column = 0;  // of the first operation concerned
  uint32_t other_line = 0;        // pipeline-race: of the second
  std::string text;               // what happens, one sentence or two
  bool certain = true;            // false: the search ended before this was decided
  bool absorbed = false;          // follows from another finding; an expect line may name it
  Schedule schedule;              // leads to what `text` says
  bool scheduled = true;          // false: no schedule is kept, or none needed (pipeline-owner)
  std::vector<StuckAgent> stuck;  // pipeline-deadlock: the end state
};

struct Verdict {
  std::vector<Finding> findings;               // owner, deadlock, early, overtake, race
  std::vector<std::set<std::string>> stuck;    // roles of every stuck end state
  bool safe = false;                           // the event graph alone decided
  bool exhaustive = true;                      // false: max_states reached
  uint64_t steps = 0, states = 0, agents = 0;  // of all agents; of the search

  uint64_t Hazards() const;  // findings that are not absorbed
};

Verdict Check(const Program& program, const CheckOptions& options = {});

// Messages for every expectation that is not met and every finding that none covers; empty =
// passes. A stuck end state is covered by any one of its roles.
std::vector<std::string> Match(const Protocol& protocol, const Verdict& verdict);

}  // namespace ss::pipeline
