// The protocol lowered to barriers and straight-line steps. What a wait needs is decided here: a
// role's text has no branches, so the number of the use it stands at (docs/semantics.md, rule 26)
// is known before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/pipeline/protocol.h"

namespace ss::pipeline {

struct Step {
  enum class Kind : uint8_t {
    kNothing,
    kArrive,    // count arrivals
    kDrop,      // and count fewer expected
    kExpect,    // count bytes more
    kComplete,  // count bytes fewer
    kWait,      // until `need` phases are complete; on the hardware, until their parity is
    kMeet,      // behind an arrival at a named barrier: until that generation is complete
    kAccess,    // buffer, write
  };
  Kind kind{};
  bool write = false;
  uint32_t barrier = 0;  // kAccess: the buffer
  uint32_t count = 0;
  uint32_t need = 0;
  uint32_t op = 0;  // index into Role::ops

  bool Waits() const { return kind == Kind::kWait || kind == Kind::kMeet; }
  bool OnBarrier() const { return kind != Kind::kNothing && kind != Kind::kAccess; }
};

struct Barrier {
  enum class Kind : uint8_t { kFull, kEmpty, kMbar, kNamed };
  Kind kind{};
  uint32_t owner = 0;  // index into pipes, mbars or bars
  uint32_t stage = 0;
  uint32_t expected = 0;
};

struct Buffer {
  uint32_t pipe = 0, stage = 0;
};

struct Agent {
  uint32_t role = 0, warp = 0;
};

struct Program {
  const Protocol* protocol = nullptr;  // outlives this
  std::vector<Barrier> barriers;
  std::vector<Buffer> buffers;
  std::vector<Agent> agents;
  std::vector<std::vector<Step>> steps;  // a role; its warps run the same

  const std::vector<Step>& StepsOf(uint32_t agent) const { return steps[agents[agent].role]; }
  const std::string& OwnerName(const Barrier& barrier) const;
  std::string BarrierName(const Barrier& barrier) const;  // "full[1] of load_k"
};

Program Lower(const Protocol& protocol);

}  // namespace ss::pipeline
