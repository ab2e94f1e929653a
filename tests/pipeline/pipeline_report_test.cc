// What people and programs are given: the page's example is what is printed, JSON has the keys of
// every other report, the command's exit codes are the contract's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/report/pipeline.h"
#include "tests/cli/process.h"

namespace ss {
namespace {

using Json = nlohmann::json;

constexpr char kTool[] = SS_BINARY_DIR "/bin/streamsan";
constexpr char kStray[] = SS_SOURCE_DIR "/tests/litmus/pipe/r28_nonowner_tail_two_stages.pipe";
constexpr char kFixed[] = SS_SOURCE_DIR "/tests/litmus/pipe/r28_fixed.pipe";

// The block of docs/pipelines.md that begins with "```KIND example".
std::string Block(const std::string& kind) {
  const std::string text = ReadFile(SS_SOURCE_DIR "/docs/pipelines.md");
  const std::string open = "```" + kind + " example\n";
  const size_t begin = text.find(open);
  if (begin == std::string::npos) return "";
  return text.substr(begin + open.size(), text.find("```", begin + 3) - begin - open.size());
}

Ran Pipeline(std::vector<std::string> words) {
  words.insert(words.begin(), {kTool, "pipeline", "check"});
  return Child(words).Wait();
}

TEST(Report, ThePagesExampleIsWhatIsPrinted) {
  Result<pipeline::Protocol> protocol = pipeline::ParseProtocol(Block("pipe"), "o_store.pipe");
  ASSERT_TRUE(protocol) << protocol.error().Text();
  std::vector<PipelineReport> reports(1);
  reports[0].file = "o_store.pipe";
  reports[0].program = pipeline::Lower(*protocol);
  reports[0].verdict = pipeline::Check(reports[0].program);
  EXPECT_EQ(PrintPipelineText(reports, 100), Block("report"));
}

TEST(Report, SarifHasWhatTheStandardAsksFor) {
  const Json log = Json::parse(Pipeline({"--format", "sarif", kStray}).err);
  EXPECT_EQ(log["version"], "2.1.0");
  const Json& run = log["runs"][0];
  ASSERT_EQ(run["results"].size(), 2u);
  for (const Json& result : run["results"]) {
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"],
              result["ruleId"]);
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 5);
  }
  EXPECT_EQ(run["results"][0]["ruleId"], "pipeline-owner");
  EXPECT_FALSE(run["results"][0].contains("codeFlows"));
  const Json& hang = run["results"][1];
  EXPECT_EQ(hang["ruleId"], "pipeline-deadlock");
  EXPECT_FALSE(hang["codeFlows"][0]["threadFlows"][0]["locations"].empty());
  // The id is that of the other formats.
  const Json json = Json::parse(Pipeline({"--format", "json", kStray}).err);
  EXPECT_EQ(hang["partialFingerprints"]["streamsan/v1"], json["hazards"][1]["id"]);
  const Json& note = run["invocations"][0]["toolExecutionNotifications"][0];
  EXPECT_EQ(note["level"], "note");
  // A search that was cut off is no clean bill.
  const Json cut = Json::parse(Pipeline({"--format", "sarif", "--states", "1", kStray}).err);
  EXPECT_EQ(cut["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["level"], "warning");
}

TEST(Report, JsonHasTheKeysOfEveryReport) {
  Ran ran = Pipeline({"--format", "json", kStray});
  EXPECT_EQ(ran.code, 66);
  EXPECT_EQ(ran.out, "");
  const Json root = Json::parse(ran.err);
  EXPECT_EQ(root["schema"], 1);
  EXPECT_TRUE(root["coverage"]["complete"].get<bool>());
  ASSERT_EQ(root["hazards"].size(), 2u);
  EXPECT_EQ(root["hazards"][0]["code"], "pipeline-owner");
  EXPECT_EQ(root["hazards"][0]["buffer"]["name"], "p");
  EXPECT_EQ(root["hazards"][0]["first"]["lane"], "C");
  const Json& hang = root["hazards"][1];
  EXPECT_EQ(hang["code"], "pipeline-deadlock");
  EXPECT_EQ(hang["confidence"], "certain");
  EXPECT_EQ(hang["first"]["stack"][0]["line"], 5);
  EXPECT_EQ(hang["witness"]["shown"].back()["lane"], "C");
  EXPECT_EQ(root["stuck_states"], Json::parse(R"([["C"]])"));
}

TEST(Command, ExitCodesAreTheContracts) {
  EXPECT_EQ(Pipeline({kFixed}).code, 0);
  EXPECT_EQ(Pipeline({kStray}).code, 66);
  EXPECT_EQ(Pipeline({"--error-exitcode", "7", kStray, kFixed}).code, 7);
  EXPECT_EQ(Pipeline({}).code, 2);
  EXPECT_EQ(Pipeline({"/nowhere.pipe"}).code, 2);
  Ran refused = Pipeline({SS_SOURCE_DIR "/tests/litmus/pipe/bad_pipe.pipe"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("bad_pipe.pipe:4:18: found 'q'"), std::string::npos) << refused.err;
}

// A search that was cut off is not "0 hazards".
TEST(Command, SaysThatNotEveryScheduleWasTried) {
  const char* lapped = SS_SOURCE_DIR "/tests/litmus/pipe/r27_overtake.pipe";
  Ran ran = Pipeline({"--states", "1", lapped});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("Coverage: INCOMPLETE"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("neither shown nor ruled out"), std::string::npos) << ran.err;
  EXPECT_EQ(Pipeline({"--states", "1", "--require-coverage", lapped}).code, 3);
  EXPECT_EQ(Pipeline({"--states", "1", "--min-confidence", "possible", lapped}).code, 66);
}

TEST(Command, CheckSaysWhereToGo) {
  Ran ran = Child({kTool, "check", kFixed}).Wait();
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("streamsan pipeline check"), std::string::npos) << ran.err;
}

TEST(Command, WritesTheReportToAFile) {
  const std::string file = SS_BINARY_DIR "/pipeline_report.txt";
  Ran ran = Pipeline({"--report", file, kStray});
  EXPECT_EQ(ran.code, 66);
  EXPECT_EQ(ran.err, "");
  EXPECT_NE(ReadFile(file).find("pipeline-owner"), std::string::npos);
  EXPECT_EQ(Pipeline({"--report", "/nowhere/x", kStray}).code, 2);
}

}  // namespace
}  // namespace ss
