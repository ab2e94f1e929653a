// What becomes of a file: passed, failed, skipped, malformed. The engine is a stub that says what a
// case needs.
#include <gtest/gtest.h>

#include <filesystem>

#include "src/litmus/runner.h"

namespace ss {
namespace {

using Status = LitmusOutcome::Status;

Report Clean(const Program&) { return {}; }

LitmusOutcome RunText(const std::string& text, const LitmusOptions& options = {},
                      const AnalyseFunction& analyse = Clean) {
  return RunLitmusText(text, "f.litmus", analyse, options);
}

TEST(Runner, PassesAndFailsByTheExpectations) {
  std::string file = "stream s\nalloc X 4K device\n";
  EXPECT_EQ(RunText(file).status, Status::kPassed);
  LitmusOutcome failed = RunText(file + "expect lifetime X s\n");
  EXPECT_EQ(failed.status, Status::kFailed);
  ASSERT_EQ(failed.messages.size(), 1u);
  EXPECT_EQ(failed.messages[0], "f.litmus: line 3: expected lifetime X s; found no hazard");
}

TEST(Runner, ARefusalPassesAtThePlaceAndWithTheTextOnly) {
  EXPECT_EQ(RunText("#!error 2:1 a statement\nbogus\n").status, Status::kPassed);
  EXPECT_EQ(RunText("#!error 2:2 a statement\nbogus\n").status, Status::kMalformed)
      << "another column";
  EXPECT_EQ(RunText("#!error 3:1 a statement\nbogus\n").status, Status::kMalformed)
      << "another line";
  LitmusOutcome other = RunText("#!error 2:1 a poem\nbogus\n");
  EXPECT_EQ(other.status, Status::kMalformed) << "another text";
  ASSERT_EQ(other.messages.size(), 2u);
  EXPECT_EQ(other.messages[1], "f.litmus:2:1: expected a refusal with 'a poem'");
}

TEST(Runner, AnAcceptedFileThatShouldBeRefusedFails) {
  LitmusOutcome outcome = RunText("#!error 2:1 a statement\nstream s\n");
  EXPECT_EQ(outcome.status, Status::kFailed);
  EXPECT_EQ(outcome.messages.at(0),
            "f.litmus:2:1: expected a refusal with 'a statement', but the file is accepted");
}

TEST(Runner, AnyOtherErrorIsMalformed) {
  LitmusOutcome outcome = RunText("bogus\n");
  EXPECT_EQ(outcome.status, Status::kMalformed);
  EXPECT_EQ(outcome.messages.at(0).find("f.litmus:1:1: found 'bogus'"), 0u)
      << outcome.messages.at(0);
  EXPECT_EQ(RunText("#!error somewhere\nbogus\n").status, Status::kMalformed);
  EXPECT_EQ(RunLitmusFile("no/such.litmus", Clean, {}).status, Status::kMalformed);
}

TEST(Runner, AFileThatNeedsAnUnmodelledRuleIsSkippedAndSaysWhich) {
  std::string file = "stream s\ns: signal F 1\ncapture G on s\nend\nexpect none\n";
  LitmusOutcome outcome = RunText(file);
  EXPECT_EQ(outcome.status, Status::kSkipped);
  EXPECT_EQ(outcome.messages.at(0),
            "f.litmus: needs rule 11 (signal), rule 14 (capture), not modelled yet");
  EXPECT_EQ(RunText(file, {.rules = {11}}).messages.at(0),
            "f.litmus: needs rule 14 (capture), not modelled yet");
  EXPECT_EQ(RunText(file, {.rules = {11, 14}}).status, Status::kPassed);
}

TEST(Runner, TheStrictOptionIsForFilesThatDoNotSay) {
  bool strict = false;
  auto note = [&](const Program& program) {
    strict = program.strict;
    return Report{};
  };
  RunText("stream s\n", {.strict = true}, note);
  EXPECT_TRUE(strict);
  RunText("mode default\n", {.strict = true}, note);
  EXPECT_FALSE(strict);
  RunText("mode strict\n", {.strict = false}, note);
  EXPECT_TRUE(strict);
}

TEST(Runner, PipelineFilesAreSkipped) {
  EXPECT_EQ(RunLitmusFile(SS_SOURCE_DIR "/tests/litmus/pipe/r28_fixed.pipe", Clean, {}).status,
            Status::kSkipped);
}

// All of the language is read, also where its rules are not modelled yet.
TEST(Runner, EveryExampleIsAcceptedOrRefusedAsItSays) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SS_SOURCE_DIR "/tests/litmus")) {
    if (entry.path().extension() != ".litmus") continue;
    ++files;
    LitmusOutcome outcome = RunLitmusFile(entry.path(), Clean, {});
    EXPECT_NE(outcome.status, Status::kMalformed) << outcome.messages.at(0);
    bool refused = entry.path().filename().string().rfind("bad_", 0) == 0;
    if (refused) {
      EXPECT_EQ(outcome.status, Status::kPassed) << outcome.messages.at(0);
    }
  }
  EXPECT_GE(files, 70);
}

}  // namespace
}  // namespace ss
