// What the documentation shows is run: the snippets of docs/hazards, the files that
// docs/semantics.md names.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "src/explain/analyse.h"
#include "src/litmus/runner.h"
#include "src/pipeline/runner.h"
#include "tests/cli/mask.h"
#include "tests/cli/process.h"

namespace ss {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Pages() {
  std::vector<std::string> codes;
  for (const auto& entry : fs::directory_iterator(SS_SOURCE_DIR "/docs/hazards")) {
    codes.push_back(entry.path().stem().string());
  }
  return codes;
}

bool IsPipeline(const std::string& code) { return code.rfind("pipeline-", 0) == 0; }

// The content of the block that begins with "```litmus KIND" ("```pipe KIND"); "" = there is none.
std::string Snippet(const std::string& code, const std::string& kind) {
  std::string text = ReadFile(SS_SOURCE_DIR "/docs/hazards/" + code + ".md"),
              open = (IsPipeline(code) ? "```pipe " : "```litmus ") + kind + "\n";
  size_t begin = text.find(open);
  if (begin == std::string::npos) return "";
  begin += open.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

Report Analyse(const Program& program) {
  AnalyseOptions options;
  options.keep_absorbed = true;
  return AnalyseProgram(program, options);
}

// The kinds of all its blocks: "broken", "fixed", and what else the page shows.
std::vector<std::string> Kinds(const std::string& code) {
  const std::string text = ReadFile(SS_SOURCE_DIR "/docs/hazards/" + code + ".md");
  const std::regex open("```(?:litmus|pipe) ([^\n]+)\n");
  std::vector<std::string> kinds;
  for (std::sregex_iterator at(text.begin(), text.end(), open), end; at != end; ++at)
    kinds.push_back((*at)[1]);
  return kinds;
}

class HazardPage : public testing::TestWithParam<std::string> {
 protected:
  void ExpectPasses(const std::string& kind) {
    std::string text = Snippet(GetParam(), kind);
    ASSERT_FALSE(text.empty());
    LitmusOptions options;
    options.rules = ModelledLaterRules();
    const std::string name = GetParam() + ":" + kind;
    LitmusOutcome outcome = IsPipeline(GetParam()) ? pipeline::RunPipeText(text, name)
                                                   : RunLitmusText(text, name, Analyse, options);
    std::string messages;
    for (const std::string& message : outcome.messages) messages += message + "\n";
    EXPECT_EQ(outcome.status, LitmusOutcome::Status::kPassed) << messages;
  }
};

TEST_P(HazardPage, BrokenExampleHasTheHazard) {
  std::string text = Snippet(GetParam(), "broken");
  bool advice = Has(text, "expect advice " + GetParam() + " ");
  EXPECT_TRUE(advice || Has(text, "expect " + GetParam() + " "));
  ExpectPasses("broken");
}

TEST_P(HazardPage, FixedExampleIsClean) {
  EXPECT_TRUE(Has(Snippet(GetParam(), "fixed"), "expect none"));
  ExpectPasses("fixed");
}

TEST_P(HazardPage, EveryExampleIsWhatItsLinesSay) {
  const std::vector<std::string> kinds = Kinds(GetParam());
  EXPECT_GE(kinds.size(), 2u);
  EXPECT_EQ(std::set<std::string>(kinds.begin(), kinds.end()).size(), kinds.size())
      << "two examples of one name: only the first is run";
  for (const std::string& kind : kinds) ExpectPasses(kind);
}

INSTANTIATE_TEST_SUITE_P(Docs, HazardPage, testing::ValuesIn(Pages()), [](const auto& info) {
  return std::regex_replace(info.param, std::regex("-"), "_");
});

TEST(Semantics, EveryLitmusFileNamedExists) {
  std::string text = ReadFile(SS_SOURCE_DIR "/docs/semantics.md");
  std::regex name("\\b(r[0-9][0-9]_[a-z0-9_]+|same_root_cause[a-z_]*)\\b");
  int named = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at, ++named) {
    bool exists = fs::exists(SS_SOURCE_DIR "/tests/litmus/pipe/" + at->str() + ".pipe");
    for (const char* folder : {"examples", "rules"}) {
      exists |=
          fs::exists(fs::path(SS_SOURCE_DIR "/tests/litmus") / folder / (at->str() + ".litmus"));
    }
    EXPECT_TRUE(exists) << at->str();
  }
  EXPECT_GT(named, 30);
}

// The report in the README is what the program says: the same as the sample that run_test compares,
// but for the stacks, which the README leaves out.
TEST(Readme, ReportIsTheSample) {
  std::string readme = ReadFile(SS_SOURCE_DIR "/README.md");
  size_t begin = readme.find("```\n==") + 4;
  std::string shown = MaskText(readme.substr(begin, readme.find("```", begin) - begin));
  std::string sample = ReadFile(SS_SOURCE_DIR "/tests/report/golden/incident1.txt");
  sample = Replace(sample, "    [a-z]+ op [0-9]+ was issued by [a-z]+ at\n", "");
  sample = Replace(sample, "\n\n\n", "\n\n");
  while (!sample.empty() && sample.back() == '\n') sample.pop_back();
  EXPECT_EQ(shown, sample + "\n");
}

TEST(Links, EveryRelativeLinkOfTheDocumentsLeadsSomewhere) {
  std::regex link("\\]\\(([^)#:]+)\\)");
  std::vector<fs::path> pages = {SS_SOURCE_DIR "/README.md", SS_SOURCE_DIR "/CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(SS_SOURCE_DIR "/docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  for (const fs::path& page : pages) {
    std::string text = ReadFile(page.string());
    EXPECT_FALSE(text.empty()) << page;
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      EXPECT_TRUE(fs::exists(page.parent_path() / (*at)[1].str())) << page << ": " << (*at)[1];
    }
  }
}

}  // namespace
}  // namespace ss
