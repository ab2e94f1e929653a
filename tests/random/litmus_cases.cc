#include "tests/random/litmus_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "src/explain/analyse.h"
#include "src/litmus/litmus.h"

namespace ss::random {
namespace {

using Path = std::filesystem::path;

std::vector<Path> FilesIn(const std::string& folder) {
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".litmus") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool Fails(const Path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  if (ParseExpectedError(text.str())) return false;
  auto file = ParseLitmus(text.str(), path.filename().string());
  if (!file) return true;
  for (Expectation& expectation : file->expectations) expectation.fix.reset();
  AnalyseOptions options;
  options.verify = false;
  options.keep_absorbed = true;
  return !MatchExpectations(file->expectations, AnalyseProgram(file->program, options)).empty();
}

}  // namespace

bool LitmusFails(const std::string& folder) {
  if (folder.empty()) return false;
  for (const Path& path : FilesIn(folder)) {
    if (!Fails(path)) continue;
    fmt::print("{} fails\n", path.filename().string());
    return true;
  }
  return false;
}

}  // namespace ss::random
