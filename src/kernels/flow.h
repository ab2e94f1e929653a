// The fixpoint: every block under every call string, until no value grows.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/kernels/graph.h"
#include "src/kernels/interpreter.h"

namespace ss::kernels {

struct FlowResult {
  std::vector<std::string> unresolved;  // reasons
  uint64_t visits = 0;                  // of blocks
};

// Runs `interpreter` over `graph`. Past the bounds on work it stops and says so: a result that is
// not a fixpoint is never given out as one.
FlowResult RunFlow(const Code& code, const Graph& graph, Interpreter& interpreter);

}  // namespace ss::kernels
