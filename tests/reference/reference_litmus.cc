// reference_litmus PATH...: does the reference itself satisfy litmus files? Fixes are the engine's
// business and are not asked for. One line a file that fails or is skipped, the counts last.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "src/litmus/litmus.h"
#include "tests/reference/reference.h"

namespace {

enum class Outcome { kPassed, kFailed, kSkipped };

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Outcome Skip(const std::string& name, const ss::LitmusFile& file) {
  std::cout << name << ": skipped, needs rule " << file.needs[0].rule << " (" << file.needs[0].what
            << ")\n";
  return Outcome::kSkipped;
}

Outcome Check(const std::filesystem::path& path) {
  const std::string text = ReadFile(path);
  if (ss::ParseExpectedError(text)) return Outcome::kPassed;  // the parser's own test
  const std::string name = path.filename().string();
  auto file = ss::ParseLitmus(text, name);
  if (!file) {
    std::cout << file.error().Text() << "\n";
    return Outcome::kFailed;
  }
  if (std::any_of(file->needs.begin(), file->needs.end(), [](const ss::LitmusFile::Need& need) {
        return !ss::reference::Models(need.rule);
      })) {
    return Skip(name, *file);
  }
  // What ranks owe each other (rule 24) is not the reference's business.
  auto expectations = file->expectations;
  std::erase_if(expectations,
                [](const auto& line) { return line.code.starts_with("collective-"); });
  for (auto& expectation : expectations) expectation.fix.reset();
  const auto verdict = ss::reference::Judge(file->program);
  const auto complaints =
      ss::MatchExpectations(expectations, ss::reference::ToReport(file->program, verdict));
  for (const std::string& complaint : complaints) std::cout << name << ": " << complaint << "\n";
  return complaints.empty() ? Outcome::kPassed : Outcome::kFailed;
}

std::vector<std::filesystem::path> FilesIn(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.path().extension() == ".litmus") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  int counts[3] = {0, 0, 0};
  for (const auto& path : FilesIn(argc, argv)) ++counts[static_cast<int>(Check(path))];
  std::cout << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " skipped\n";
  return counts[1] == 0 && counts[0] > 0 ? 0 : 1;
}
