// Command lines that are wrong in ways for which CLI11 has no clear word.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace CLI {
class App;
}

namespace ss {

// What stands behind `--` is somebody else's command line.
bool TakesProgram(const std::vector<std::string>& words);

// What is wrong, and what to type: words that name no command where one is due, a number that an
// option does not take, STREAMSAN_OPTIONS.
std::optional<Error> FindMistake(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace ss
