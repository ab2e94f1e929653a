// The command line's contract: exit codes, options, errors. Programs that run are in run_test.cc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace ss {
namespace {

using Json = nlohmann::json;

constexpr char kExamples[] = SS_SOURCE_DIR "/tests/litmus/examples/";

std::string Example(const std::string& name) { return kExamples + name + ".litmus"; }

constexpr char kClean[] = "stream s\nalloc X 1M device\ns: kernel k write X\n";
constexpr char kRacy[] =
    "stream s\nstream t\nalloc X 1M device\ns: kernel one write X\nt: kernel two read X\n";

TEST(Usage, MistakesExitTwoAndSayWhat) {
  EXPECT_EQ(Tool({}).code, 2);
  EXPECT_EQ(Tool({"frobnicate"}).code, 2);
  EXPECT_EQ(Tool({"check"}).code, 2);
  EXPECT_EQ(Tool({"check", "--format", "xml", Example("r02_streams_ok")}).code, 2);
  EXPECT_EQ(Tool({"check", "--min-confidence", "sure", Example("r02_streams_ok")}).code, 2);
  EXPECT_EQ(Tool({"run"}).code, 2);
  EXPECT_EQ(Tool({"record", "--", "true"}).code, 2);  // no -o
  Ran option = Tool({"run", "--no-such-option", "--", "true"});
  EXPECT_EQ(option.code, 2);
  EXPECT_TRUE(Has(option.err, "--no-such-option")) << option.err;
}

TEST(Usage, HelpAndVersionExitZero) {
  EXPECT_EQ(Tool({"--help"}).code, 0);
  EXPECT_TRUE(Has(Tool({"run", "--help"}).out, "--suppressions"));
  Ran version = Tool({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(Has(version.out, "streamsan 0.")) << version.out;
}

TEST(Usage, OptionsVariableIsChecked) {
  Ran unknown = Tool({"check", Example("r02_streams_ok")}, {{"STREAMSAN_OPTIONS", "colour=red"}});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Has(unknown.err, "colour=red")) << unknown.err;
  EXPECT_EQ(Tool({"check", Example("r02_streams_ok")}, {{"STREAMSAN_OPTIONS", "mode=odd"}}).code,
            2);
  EXPECT_EQ(Tool({"check", Example("r02_streams_ok")}, {{"STREAMSAN_OPTIONS", "mode=strict"}}).code,
            0);
}

TEST(Check, HazardsExit66) {
  TemporaryFile racy(kRacy, ".litmus"), clean(kClean, ".litmus");
  EXPECT_EQ(Tool({"check", racy.path()}).code, 66);
  EXPECT_EQ(Tool({"check", clean.path()}).code, 0);
  EXPECT_EQ(Tool({"check", clean.path(), racy.path()}).code, 66);
  EXPECT_EQ(Tool({"check", "--error-exitcode", "7", racy.path()}).code, 7);
  EXPECT_EQ(Tool({"check", "--error-exitcode", "0", racy.path()}).code, 0);
}

TEST(Check, UnreadableInputExitsTwo) {
  Ran missing = Tool({"check", "/nowhere/x.sst"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(Has(missing.err, "/nowhere/x.sst")) << missing.err;
  TemporaryFile garbage("not a trace", ".sst"), malformed("stream s\ns: dance\n", ".litmus");
  EXPECT_EQ(Tool({"check", garbage.path()}).code, 2);
  Ran parse = Tool({"check", malformed.path()});
  EXPECT_EQ(parse.code, 2);
  EXPECT_TRUE(Has(parse.err, malformed.path() + ":2:4: found 'dance'")) << parse.err;
  EXPECT_EQ(Tool({"dump", garbage.path()}).code, 2);
  EXPECT_EQ(Tool({"check", "/tmp/ss_no_such_folder"}).code, 2);
}

// A device never ends, a FIFO waits for a writer: neither is opened.
TEST(Check, WhatIsNoFileIsRefused) {
  for (std::vector<std::string> command : {std::vector<std::string>{"check"},
                                           {"dump"},
                                           {"kernels"},
                                           {"litmus"},
                                           {"ablate"},
                                           {"pipeline", "check"}}) {
    command.push_back("/dev/zero");
    Ran ran = Tool(command);
    EXPECT_EQ(ran.code, 2) << command[0];
    EXPECT_NE((ran.out + ran.err).find("regular file"), std::string::npos) << command[0];
  }
}

// Of nothing, nothing was covered.
TEST(Check, AProgramThatWasNotSeenIsNotCovered) {
  Ran ran = Tool({"run", "--require-coverage=1", "--", "true"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("no call was seen"), std::string::npos) << ran.err;
}

TEST(Check, ReportFileAndJson) {
  TemporaryFile racy(kRacy, ".litmus"), report("", ".json");
  Ran ran = Tool({"check", "--format", "json", "--report", report.path(), racy.path()});
  EXPECT_EQ(ran.code, 66);
  EXPECT_EQ(ran.err + ran.out, "");
  Json json = Json::parse(ReadFile(report.path()));
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["hazards"].size(), 1u);
  EXPECT_EQ(json["hazards"][0]["code"], "race-raw");
  EXPECT_EQ(json["hazards"][0]["first"]["stack"][0]["line"], 4);
  EXPECT_EQ(json["hazards"][0]["fix"]["verified"], true);
  EXPECT_EQ(Tool({"check", "--report", "/nowhere/report", racy.path()}).code, 2);
}

TEST(Check, SeveralInputsAreOneReport) {
  TemporaryFile racy(kRacy, ".litmus"), other(kRacy, ".litmus");
  Json json = Json::parse(Tool({"check", "--format", "json", racy.path(), other.path()}).err);
  ASSERT_EQ(json["hazards"].size(), 2u);
  EXPECT_EQ(json["hazards"][0]["source"], racy.path());
  EXPECT_EQ(json["hazards"][1]["first"]["stack"][0]["file"], other.path());
}

TEST(Check, TheSameInputGivesTheSameReport) {
  auto report = [] {
    Json json = Json::parse(Tool({"check", "--format", "json", Example("r02_streams_bad")}).err);
    json["stats"].erase("seconds");
    return json.dump();
  };
  EXPECT_EQ(report(), report());
}

TEST(Check, SuppressedHazardsDoNotCount) {
  TemporaryFile racy(kRacy, ".litmus"), file("race-raw:X\nlifetime:Y\n", ".supp"),
      bad("race-raw\n");
  Ran ran = Tool({"check", "--suppressions", file.path(), racy.path()});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.err, "unused suppression " + file.path() + ":2: lifetime:Y")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "1 hazard and 0 advice suppressed")) << ran.err;
  EXPECT_EQ(Tool({"check", "--suppressions", bad.path(), racy.path()}).code, 2);
  EXPECT_EQ(Tool({"check", "--suppressions", "/nowhere", racy.path()}).code, 2);
}

TEST(Check, PrintLimitCutsTextOnly) {
  Ran text = Tool({"check", "--print-limit", "1", Example("r02_streams_bad")});
  EXPECT_TRUE(Has(text.err, "not printed (--print-limit)")) << text.err;
  EXPECT_FALSE(Has(text.err, "H2"));
}

TEST(Check, CoverageOfALitmusFileIsComplete) {
  EXPECT_EQ(Tool({"check", "--require-coverage", Example("r02_streams_ok")}).code, 0);
  Ran graph = Tool({"check", Example("r14_graph_ok")});
  EXPECT_EQ(graph.code, 0);
  EXPECT_FALSE(Has(graph.err, "INCOMPLETE")) << graph.err;
}

// Ordered only because two host threads use the same stream.
constexpr char kHandover[] =
    "host worker\nstream s\nstream u\nalloc X 1M device\n"
    "s: kernel one write X\nsync s\n@worker u: kernel two read X\n";

TEST(Check, StrictModeAndPossibleShowWhatAHandoverHides) {
  TemporaryFile file(kHandover, ".litmus");
  EXPECT_EQ(Tool({"check", file.path()}).code, 0);
  EXPECT_EQ(Tool({"check", "--strict", file.path()}).code, 66);
  Ran possible = Tool({"check", "--min-confidence", "possible", "--format", "json", file.path()});
  EXPECT_EQ(possible.code, 66);
  EXPECT_EQ(Json::parse(possible.err)["hazards"][0]["confidence"], "possible");
  EXPECT_EQ(Tool({"check", file.path()}, {{"STREAMSAN_OPTIONS", "min_confidence=possible"}}).code,
            66);
}

TEST(Litmus, CountsAndExitCodes) {
  Ran pass = Tool({"litmus", Example("r02_streams_bad"), Example("r02_streams_ok")});
  EXPECT_EQ(pass.code, 0);
  EXPECT_TRUE(Has(pass.out, "\n2 passed, 0 failed\n")) << pass.out;
  TemporaryFile unexpected(kRacy, ".litmus"), malformed("stream\n", ".litmus");
  Ran fail = Tool({"litmus", Example("r02_streams_ok"), unexpected.path()});
  EXPECT_EQ(fail.code, 1);
  EXPECT_TRUE(Has(fail.out, "\n1 passed, 1 failed\n")) << fail.out;
  Ran both = Tool({"litmus", malformed.path(), Example("r02_streams_ok")});
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(Has(both.out, "\n1 passed, 1 failed\n")) << both.out;
  EXPECT_EQ(Tool({"litmus", "/nowhere"}).code, 2);
}

TEST(Litmus, EveryFileOfTheRepositoryPasses) {
  Ran all = Tool({"litmus", SS_SOURCE_DIR "/tests/litmus"});
  EXPECT_EQ(all.code, 0) << all.out;
  EXPECT_TRUE(Has(all.out, " 0 failed")) << all.out;
}

TEST(Doctor, AlwaysExitsZero) {
  Ran doctor = Tool({"doctor"});
  EXPECT_EQ(doctor.code, 0);
  for (const char* part : {"CUDA driver", "LD_PRELOAD", "shared memory", "nvdisasm"}) {
    EXPECT_TRUE(Has(doctor.out, part)) << part;
  }
}

}  // namespace
}  // namespace ss
