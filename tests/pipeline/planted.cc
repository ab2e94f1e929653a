// pipeline_planted FOLDER...: with each rule of src/pipeline/rules.h switched off in turn, some
// `.pipe` file must fail; with all of them on, none. This program has the checker compiled with the
// switches in; the shipped one has none.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/pipeline/rules.h"
#include "src/pipeline/runner.h"

namespace ss::pipeline {
namespace {

struct File {
  std::string path, text;
};

std::vector<File> ReadFiles(int argc, char** argv) {
  std::vector<File> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.path().extension() != ".pipe") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files.push_back({entry.path().stem().string(), text.str()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> Failing(const std::vector<File>& files) {
  std::vector<std::string> failing;
  for (const File& file : files) {
    if (RunPipeText(file.text, file.path).status != LitmusOutcome::Status::kPassed)
      failing.push_back(file.path);
  }
  return failing;
}

int Main(int argc, char** argv) {
  const std::vector<File> files = ReadFiles(argc, argv);
  unsetenv("STREAMSAN_BREAK_RULE");
  std::vector<std::string> failing = Failing(files);
  int unseen = static_cast<int>(failing.size());
  fmt::print("{} files, {} fail with all rules on\n", files.size(), failing.size());
  for (int i = 0; i < static_cast<int>(Rule::kCount); ++i) {
    const RuleInfo& rule = Info(static_cast<Rule>(i));
    setenv("STREAMSAN_BREAK_RULE", rule.name, 1);
    failing = Failing(files);
    unseen += failing.empty();
    fmt::print("without {:4} {:18} {} fail: {}\n", rule.number, rule.name, failing.size(),
               failing.empty() ? "NONE" : failing.front());
  }
  fmt::print("{} unseen\n", unseen);
  return unseen == 0 && !files.empty() ? 0 : 1;
}

}  // namespace
}  // namespace ss::pipeline

int main(int argc, char** argv) { return ss::pipeline::Main(argc, argv); }
