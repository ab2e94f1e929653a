// Recordings of `streamsan pipeline watch`: read, judged, printed.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/cli/options.h"

namespace ss {

// The exit code: hazards, else the program's, else coverage. Errors: a file that is no recording, a
// report that cannot be written.
Result<int> JudgeRecordings(const std::vector<std::string>& files, const ReportOptions& options,
                            int program);

}  // namespace ss
