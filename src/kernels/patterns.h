// Shapes of code that the dataflow alone does not see.
#pragma once

#include <cstdint>
#include <vector>

#include "src/kernels/graph.h"
#include "src/kernels/sass.h"

namespace ss::kernels {

// Strong or volatile loads (by instruction) whose value decides whether the loop around them goes on:
// the kernel waits for someone else's write.
std::vector<uint32_t> PollingLoads(const Code& code, const Graph& graph);

// Generic loads and stores that only run when the address is in local memory: the last resort of an
// atomic on a generic address (ATOM fails, then QSPC says it is not shared memory either). Sorted.
std::vector<uint32_t> LocalOnlyAccesses(const Code& code, const Graph& graph);

}  // namespace ss::kernels
