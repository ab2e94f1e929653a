// Shapes of code that the dataflow alone does not see.
#pragma once

#include <cstdint>
#include <vector>

#include "src/kernels/graph.h"
#include "src/kernels/sass.h"

namespace ss::kernels {

// By block: the blocks that may run next, calls stepped over; and the same backwards.
using BlockEdges = std::vector<std::vector<uint32_t>>;
BlockEdges Successors(const Graph& graph);
BlockEdges Reverse(const BlockEdges& next);

// Strong or volatile loads (by instruction) whose value decides whether the loop around them goes
// on: the kernel waits for someone else's write.
std::vector<uint32_t> PollingLoads(const Code& code, const Graph& graph);

// Generic accesses that only run when the address is not in global memory: what stands in for an
// atomic whose ATOM failed. Sorted.
std::vector<uint32_t> LocalOnlyAccesses(const Code& code, const Graph& graph);

}  // namespace ss::kernels
