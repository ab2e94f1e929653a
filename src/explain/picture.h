// A tape as a picture (src/program/picture.h).
#pragma once

#include <vector>

#include "src/explain/replay.h"
#include "src/program/finding.h"
#include "src/program/picture.h"

namespace ss {

// At most about `limit` operations: where there are more, those around the findings that are not
// absorbed.
Picture MakePicture(const Tape& tape, const std::vector<Finding>& findings, size_t limit);

}  // namespace ss
