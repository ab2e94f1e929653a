// Every interleaving of a protocol, one state at a time, with barriers as the hardware has them. Of
// src/pipeline it uses the parsed file alone: no need of a wait, no lowering, no clock is shared
// with the checker that it is compared with.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/pipeline/protocol.h"

namespace ss::pipeline::oracle {

// An mbarrier or a named barrier; rule 25.
struct Word {
  int64_t phases = 0;  // complete ones
  int64_t pending = 0, tx = 0, expected = 0;

  auto operator<=>(const Word&) const = default;
};

// Where an agent is: an operation, and how far in it (a tail has one part a stage, a sync two).
struct Place {
  uint32_t op = 0, part = 0;
  int64_t generation = 0;  // of a sync that has arrived

  auto operator<=>(const Place&) const = default;
};

struct World {
  std::vector<Place> places;  // an agent
  std::vector<Word> words;    // pipelines' full and empty slots, mbarriers, named barriers

  auto operator<=>(const World&) const = default;
};

// What an agent is about to wait for.
struct Ahead {
  uint32_t word = 0;
  int64_t lap = 0;     // phases that it means
  bool parity = true;  // it sees their parity only
  std::string subject;
};

struct Touch {
  uint32_t pipe = 0, stage = 0;
  bool write = false;
};

using Names = std::set<std::string>;

struct Truth {
  bool complete = true;  // false: more than max_states
  uint64_t states = 0;
  std::set<Names> stuck;                                           // roles
  std::set<std::pair<std::string, std::string>> early, overtaken;  // subject, role
  std::set<std::tuple<std::string, std::string, std::string>> races;
};

class Oracle {
 public:
  explicit Oracle(const Protocol& protocol);

  Truth Explore(uint64_t max_states) const;

  // One step at a time, for replaying a schedule.
  World Start() const;
  bool AtEnd(const World& world, uint32_t agent) const;
  bool CanStep(const World& world, uint32_t agent) const;
  World Step(const World& world, uint32_t agent) const;  // CanStep() holds
  std::optional<Ahead> WaitAhead(const World& world, uint32_t agent) const;
  std::optional<Touch> TouchAhead(const World& world, uint32_t agent) const;
  bool Conflict(uint32_t agent, const Touch& one, uint32_t other_agent, const Touch& other) const;
  const std::string& RoleName(uint32_t agent) const;
  uint32_t agents() const { return static_cast<uint32_t>(role_of_.size()); }

 private:
  // CUTLASS's PipelineState beside the lap, which the hardware does not see.
  struct Cursor {
    uint32_t index = 0, phase = 0;
    int64_t lap = 0;
    void Next(uint32_t stages);
  };
  struct Cursors {
    std::vector<Cursor> produce, consume;  // a pipeline
    std::vector<int64_t> seen;             // an mbarrier: the phase last awaited
  };

  void Prepare(uint32_t role);
  void Note(const World& world, Truth& truth) const;
  const Op* NextOp(const World& world, uint32_t agent) const;
  uint32_t Parts(const Op& op) const;
  uint32_t FullWord(uint32_t pipe, uint32_t index) const { return full_[pipe] + index; }
  uint32_t EmptyWord(uint32_t pipe, uint32_t index) const;
  std::optional<Ahead> TailAhead(const Op& op, const Cursors& at, uint32_t part) const;
  void Arrive(World& world, uint32_t agent, const Op& op) const;

  const Protocol& protocol_;
  std::vector<uint32_t> role_of_;             // an agent
  std::vector<std::vector<Cursors>> before_;  // a role: before each operation
  std::vector<uint32_t> full_;                // a pipeline's first word
  uint32_t mbar_word_ = 0, bar_word_ = 0;
  std::vector<Word> fresh_;
};

}  // namespace ss::pipeline::oracle
