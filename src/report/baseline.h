// Known findings: an earlier report, as JSON or SARIF, whose hazards do not count any more.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace ss {

// The ids of its hazards. Errors: neither a report of `--format json` nor one of `--format sarif`.
Result<std::set<std::string>> ParseBaseline(std::string_view text, const std::string& file);

}  // namespace ss
