// Warps that still waited when the recording ended: on what, and who could still let them go.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "src/pipeline/observe.h"
#include "src/pipeline/room.h"

namespace ss::pipeline {

using Rooms = std::map<std::pair<const RecordedLaunch*, uint32_t>, Room>;

std::vector<SeenFinding> FindStuck(const Recording& recording,
                                   const std::vector<const RecordedLaunch*>& launches,
                                   const SeenKernel& kernel, const Rooms& rooms);

}  // namespace ss::pipeline
