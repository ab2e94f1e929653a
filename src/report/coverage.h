// The report's last lines: how much was seen. A report that did not see all never says "0 hazards"
// without saying so.
#pragma once

#include <string>
#include <vector>

#include "src/program/finding.h"

namespace ss {

// "calls 100%, launches with known accesses 99.7%, CPU accesses: ..."
std::string CoverageText(const Report& report);
// What is missing, one line a thing: drops, late start, calls that are not modelled, notes.
std::vector<std::string> GapLines(const Coverage& coverage);

// Percent of what was seen that was also understood, rounded down: 100 only if nothing is missing.
// The least of its parts (calls, launches); below 100 where records were dropped or the start
// missed.
int CoveragePercent(const Coverage& coverage);

}  // namespace ss
