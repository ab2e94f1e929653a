// Roles and pairs of one kernel, from what its warps did.
#pragma once

#include <vector>

#include "src/pipeline/observe.h"

namespace ss::pipeline {

SeenKernel FindStructure(const std::vector<const RecordedLaunch*>& launches);

}  // namespace ss::pipeline
