// Suppressions: a file of lines `CODE:GLOB`, `#` starts a comment. A finding is suppressed where
// CODE (itself a glob) fits its code and GLOB fits its buffer, a kernel or operator name, a lane,
// or a frame (function, file, FILE:LINE or module) of one of its stacks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/program/finding.h"
#include "src/report/symbols.h"

namespace ss {

struct Suppression {
  std::string code, glob;
  std::string place;     // FILE:LINE
  uint64_t matched = 0;  // findings and advice that it removed
};

// Errors name FILE:LINE and what a line must look like.
Result<std::vector<Suppression>> ParseSuppressions(std::string_view text, const std::string& file);

// The narrowest line that fits the finding: its buffer by name, else the line of one of its
// operations, else a kernel. "" for one without any name.
std::string SuppressionFor(const Finding& finding, Symboliser& symbols);

// True and counted where a line fits.
bool Suppress(std::vector<Suppression>& lines, const Finding& finding, Symboliser& symbols);
bool Suppress(std::vector<Suppression>& lines, const Advice& advice);

}  // namespace ss
