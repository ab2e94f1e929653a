// One child process, its standard output, a time limit.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace ss::kernels {

// Runs argv[0] with an empty standard input; returns what it printed. Errors: it cannot be started,
// it ends with a status other than 0 (with the first line that it complained), it takes longer, it
// prints more than `most` bytes, or `cancel` (may be null) becomes true.
Result<std::string> CaptureOutput(const std::vector<std::string>& argv, int timeout_s,
                                  const std::atomic<bool>* cancel = nullptr,
                                  size_t most = size_t{1} << 30);

}  // namespace ss::kernels
