#include "src/cli/mistakes.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "src/cli/environment.h"

namespace ss {
namespace {

bool IsNumber(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

// The words that name no command where one is due.
std::optional<Error> WrongCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (size_t i = 0;; ++i) {
    std::string names;
    const CLI::App* found = nullptr;
    for (const CLI::App* command : at->get_subcommands({})) {
      names += (names.empty() ? "" : ", ") + command->get_name();
      if (i < words.size() && command->get_name() == words[i]) found = command;
    }
    if (names.empty() || (i < words.size() && words[i][0] == '-')) return std::nullopt;
    if (i == words.size()) return Error{"", "no command given", "commands: " + names};
    if (!found) return Error{"", "'" + words[i] + "' is no command", "commands: " + names};
    at = found;
  }
}

}  // namespace

bool TakesProgram(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const bool watch = words.size() > 1 && words[0] == "pipeline" && words[1] == "watch";
  return words[0] == "run" || words[0] == "record" || watch;
}

std::optional<Error> FindMistake(const CLI::App& app, const std::vector<std::string>& words) {
  if (std::optional<Error> wrong = WrongCommand(app, words)) return wrong;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "--require-coverage" || !IsNumber(words[i + 1])) continue;
    return Error{"--require-coverage", "its number goes behind '=', not behind a space",
                 "--require-coverage=" + words[i + 1]};
  }
  Result<Environment> environment = ParseEnvironment(std::getenv("STREAMSAN_OPTIONS"));
  if (!environment) return environment.error();
  return std::nullopt;
}

}  // namespace ss
