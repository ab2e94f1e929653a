// Who plays which side of a pipeline: a look at the text alone, true for every schedule and every
// number of turns.
#pragma once

#include <vector>

#include "src/pipeline/check.h"

namespace ss::pipeline {

std::vector<Finding> FindStrangers(const Program& program);

}  // namespace ss::pipeline
