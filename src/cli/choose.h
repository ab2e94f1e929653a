// One hazard of a report by its name.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/cli/options.h"
#include "src/report/select.h"

namespace ss {

// What is left of the report's selection: one hazard, called H1 or by the first digits of its id.
// Error: there is none; it lists those that there are. `path` is what the error is about.
Result<Selection> ChooseHazard(const Report& report, const ReportOptions& options,
                               const std::string& path, const std::string& id, Symboliser& symbols);

}  // namespace ss
