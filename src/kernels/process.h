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

// Who waits for a program that takes long wants to know: `tell` is called from any thread when one
// has run for 5 s, for 10, for 20 ... Null: nobody is told.
using TellSlow = void (*)(const std::string& program, int seconds, int timeout_s);
void TellOfSlowPrograms(TellSlow tell);

// Ends every program that CaptureOutput has started, with what those started. For signal handlers.
void EndPrograms();

}  // namespace ss::kernels
