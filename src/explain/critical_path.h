// How long a program's longest chain of operations is that each have to wait for the one before.
//
// Operations count one each: a trace has no durations, and what another machine takes for a kernel
// would not be the same. What a wait costs is read from the difference of two such chains.
#pragma once

#include <cstdint>

#include "src/explain/replay.h"

namespace ss {

struct PathCost {
  uint64_t length = 0;  // operations on the longest chain
  uint64_t delay = 0;   // sum over all operations of the length of the chain that ends there
};

// The edit must be sorted.
PathCost CriticalPath(const Tape& tape, const Edit& edit);

}  // namespace ss
