// Ids of hazards inside kernels. Code and names alone, so that an id survives edits of the file
// elsewhere.
#pragma once

#include <string>

#include "src/pipeline/check.h"
#include "src/pipeline/observe.h"

namespace ss {

std::string IdOf(const pipeline::Finding& finding);
std::string IdOf(const pipeline::SeenKernel& kernel, const pipeline::SeenFinding& finding);

}  // namespace ss
