// The small terminal timeline of a finding: one row a lane, time to the right, `?` where the
// missing edge would have to arrive.
#pragma once

#include <string>
#include <vector>

#include "src/program/finding.h"

namespace ss {

// Rows without indentation, none longer than `width` unless the finding's own operations are.
// Operations of Finding.timeline on other lanes than the finding's are left out, then the oldest.
std::vector<std::string> DrawTimeline(const Finding& finding, size_t width);

}  // namespace ss
