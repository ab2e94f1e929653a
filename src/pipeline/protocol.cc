#include "src/pipeline/protocol.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss::pipeline {

bool Side::Has(uint32_t role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

const char* Word(OpKind kind) {
  constexpr const char* kWords[] = {
      "acquire",     "commit",    "wait",        "release", "tail",   "tail_last",
      "advance",     "read",      "write",       "sync",    "arrive", "arrive",
      "arrive_drop", "expect_tx", "complete_tx", "await",   "delay"};
  return kWords[static_cast<size_t>(kind)];
}

std::string Text(const Protocol& protocol, const Op& op) {
  switch (op.kind) {
    case OpKind::kDelay:
      return Word(op.kind);
    case OpKind::kSync:
    case OpKind::kBarArrive: {
      const NamedBarrier& bar = protocol.bars[op.target];
      return fmt::format("{} {} {}", Word(op.kind), bar.name, bar.agents);
    }
    case OpKind::kAwait:
      return fmt::format("await {} {}", protocol.mbars[op.target].name, op.count);
    case OpKind::kArrive:
    case OpKind::kArriveDrop:
    case OpKind::kExpectTx:
    case OpKind::kCompleteTx: {
      std::string text = fmt::format("{} {}", Word(op.kind), protocol.mbars[op.target].name);
      return op.count == 1 ? text : fmt::format("{} {}", text, op.count);
    }
    default:
      return fmt::format("{} {}", Word(op.kind), protocol.pipes[op.target].name);
  }
}

}  // namespace ss::pipeline
