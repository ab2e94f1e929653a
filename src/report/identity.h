// What a hazard is called in every run of the program.
#pragma once

#include <string>

#include "src/program/finding.h"
#include "src/report/symbols.h"

namespace ss {

// A hash of code, buffer and sites. Sites with a call stack are known by its frames as they are in
// the files (functions and lines, else image and offset): the numbers of stacks, and the addresses
// in them, are another run's own.
std::string StableId(Symboliser& symbols, const Finding& finding);

}  // namespace ss
