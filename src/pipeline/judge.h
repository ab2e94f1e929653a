// What is wrong with the launches of one kernel.
#pragma once

#include <vector>

#include "src/pipeline/observe.h"

namespace ss::pipeline {

// `kernel`: which of seen.kernels they are. Adds findings, and what the replay learns about
// barriers.
void Judge(const Recording& recording, const std::vector<const RecordedLaunch*>& launches,
           size_t kernel, Observation& seen);

}  // namespace ss::pipeline
