// One hazard on one screen: the questions and answers, what happened around it from top to bottom,
// why the waits that are there do not help, every change that was tried.
#pragma once

#include <string>
#include <vector>

#include "src/report/print.h"

namespace ss {

std::string PrintExplanation(const PrintInput& input, const Selection::Hazard& hazard);

// The operations around a finding, one a line, one column a lane; `- - >` where the edge is
// missing.
std::vector<std::string> DrawStory(const Finding& finding);

}  // namespace ss
