// Who is to blame for a stuck end state: a role whose barrier nobody left could complete, or that
// missed its phase; else one role of a circle of waits.
#pragma once

#include <vector>

#include "src/pipeline/check.h"

namespace ss::pipeline {

std::vector<Finding> ExplainStuck(const Program& program, const Stuck& stuck);

}  // namespace ss::pipeline
