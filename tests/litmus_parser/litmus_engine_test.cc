// The litmus files and the example of docs/litmus.md, judged by the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/explain/analyse.h"
#include "src/litmus/runner.h"

namespace ss {
namespace {

using Status = LitmusOutcome::Status;

const LitmusOptions kAllRules{.rules = {7, 8, 11, 13, 14, 23, 24}};

std::vector<std::string> LitmusFiles() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SS_SOURCE_DIR "/tests/litmus")) {
    if (entry.path().extension() == ".litmus") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Report Engine(const Program& program) { return AnalyseProgram(program, {.keep_absorbed = true}); }

// The one ```litmus block of the language reference.
std::string DocumentedExample() {
  std::istringstream document(ReadText(SS_SOURCE_DIR "/docs/litmus.md"));
  std::string line, example;
  for (bool inside = false; std::getline(document, line);) {
    if (line == "```") inside = false;
    if (inside) example += line + "\n";
    if (line == "```litmus") inside = true;
  }
  return example;
}

class LitmusFileTest : public testing::TestWithParam<std::string> {};

TEST_P(LitmusFileTest, MeetsItsExpectations) {
  LitmusOutcome outcome = RunLitmusFile(GetParam(), Engine, kAllRules);
  if (outcome.status == Status::kSkipped) GTEST_SKIP() << outcome.messages.at(0);
  std::string messages;
  for (const std::string& message : outcome.messages) messages += "\n" + message;
  EXPECT_EQ(outcome.status, Status::kPassed) << messages;
}

INSTANTIATE_TEST_SUITE_P(All, LitmusFileTest, testing::ValuesIn(LitmusFiles()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = std::filesystem::path(info.param).stem();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(DocumentedExample, PassesAsItStands) {
  std::string example = DocumentedExample();
  ASSERT_NE(example.find("expect fill-race"), std::string::npos) << "no example in docs/litmus.md";
  LitmusOutcome outcome = RunLitmusText(example, "docs/litmus.md", Engine, kAllRules);
  EXPECT_EQ(outcome.status, Status::kPassed) << outcome.messages.at(0);
}

TEST(DocumentedExample, FailsWithoutItsExpectLine) {
  std::string example = DocumentedExample();
  example.erase(std::min(example.find("expect"), example.size()));
  LitmusOutcome outcome = RunLitmusText(example, "docs/litmus.md", Engine, kAllRules);
  EXPECT_EQ(outcome.status, Status::kFailed);
}

}  // namespace
}  // namespace ss
