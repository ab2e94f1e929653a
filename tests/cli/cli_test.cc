// The command line's contract: exit codes, options, errors. Programs that run are in run_test.cc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

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

// What is wrong, and what to type.
TEST(Usage, MistakesAreNamedPlainly) {
  const std::string good = Example("r02_streams_ok");
  const struct {
    std::vector<std::string> words;
    const char* said;
  } kMistakes[] = {
      {{}, "no command given (commands: run, record"},
      {{"bogus"}, "'bogus' is no command (commands: run, record"},
      {{"pipeline", "bogus"}, "'bogus' is no command (commands: check"},
      {{"check", "--require-coverage", "50", good}, "(--require-coverage=50)"},
      {{"check", "--no-such", good}, "--no-such (see streamsan check --help)"},
  };
  for (const auto& mistake : kMistakes) {
    Ran ran = Tool(mistake.words);
    EXPECT_EQ(ran.code, 2) << mistake.said;
    EXPECT_TRUE(Has(ran.err, mistake.said)) << ran.err;
    EXPECT_EQ(ran.err.rfind("streamsan: ", 0), 0u) << ran.err;
  }
  EXPECT_EQ(Tool({"check", "--", good}).code, 0);  // as everywhere else: what follows is a path
}

TEST(Usage, NumbersHaveBounds) {
  const std::string file = Example("r02_streams_ok");
  const std::vector<std::vector<std::string>> kOptions = {
      {"check", "--print-limit"},
      {"check", "--error-exitcode"},
      {"ablate", "--budget"},
      {"pipeline", "check", "--states"},
      {"pipeline", "check", "--print-limit"},
      {"pipeline", "check", "--error-exitcode"}};
  for (const std::vector<std::string>& option : kOptions) {
    for (const char* number : {"-1", "99999999999999999999", "1e3", "x"}) {
      std::vector<std::string> words = option;
      words.insert(words.end(), {number, file});
      Ran ran = Tool(words);
      EXPECT_EQ(ran.code, 2) << option.back() << " " << number;
      EXPECT_TRUE(Has(ran.err, option.back())) << ran.err;
    }
  }
  for (const char* value : {"ring_mb=0", "ring_mb=1025", "ring_mb=-1", "max_trace_mb=0",
                            "max_trace_mb=99999999999999", "stacks=7"}) {
    Ran ran = Tool({"check", file}, {{"STREAMSAN_OPTIONS", value}});
    EXPECT_EQ(ran.code, 2) << value;
    EXPECT_TRUE(Has(ran.err, value)) << ran.err;
  }
}

TEST(Usage, HelpAndVersionExitZero) {
  EXPECT_TRUE(Has(Tool({"--help"}).out, "Usage: streamsan"));
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

// All capitals, as variables are called.
std::vector<std::string> Capitals(const std::string& code) {
  std::vector<std::string> names;
  const std::regex name("\"([A-Z][A-Z0-9_]{3,})\"");
  for (std::sregex_iterator at(code.begin(), code.end(), name), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

// What a file asks the environment for. A name that comes from elsewhere is looked for just before
// the call (a loop over names), and is else one of those that begin with STREAMSAN_, which count
// wherever they stand.
std::set<std::string> VariablesOf(const std::string& code) {
  std::set<std::string> found;
  const std::regex call("getenv\\(([^)]*)");
  for (std::sregex_iterator at(code.begin(), code.end(), call), end; at != end; ++at) {
    std::string argument = (*at)[1];
    if (argument[0] != '"') {
      const size_t from = static_cast<size_t>(at->position());
      argument = code.substr(from - std::min<size_t>(from, 200), std::min<size_t>(from, 200));
    }
    for (const std::string& name : Capitals(argument)) found.insert(name);
  }
  for (const std::string& name : Capitals(code)) {
    if (name.starts_with("STREAMSAN_")) found.insert(name);
  }
  found.erase("STREAMSAN_BREAK_RULE");  // of a build for tests alone
  return found;
}

TEST(Usage, EveryVariableThatIsReadIsInTheHelp) {
  const std::string help = Tool({"--help"}).out;
  EXPECT_TRUE(Has(Tool({"run", "--help"}).out, "  STREAMSAN_OPTIONS "));
  size_t files = 0, variables = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(SS_SOURCE_DIR "/src")) {
    const std::string path = file.path().string();
    if (!path.ends_with(".cc") && !path.ends_with(".h")) continue;
    ++files;
    for (const std::string& name : VariablesOf(ReadFile(path))) {
      ++variables;
      EXPECT_TRUE(Has(help, "\n  " + name + " ")) << name << " of " << path;
    }
  }
  EXPECT_GT(files, 100u);
  EXPECT_GT(variables, 20u);
}

// Every command looks at the variable, also one that has no use for it.
TEST(Usage, OptionsVariableIsCheckedByEveryCommand) {
  const std::string file = Example("r02_streams_ok");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "--", "true"},
                                             {"litmus", file},
                                             {"kernels", file},
                                             {"dump", file},
                                             {"ablate", file},
                                             {"pipeline", "check", file},
                                             {"doctor"}}) {
    Ran ran = Tool(words, {{"STREAMSAN_OPTIONS", "colour=red"}});
    EXPECT_EQ(ran.code, 2) << words[0];
    EXPECT_TRUE(Has(ran.err, "STREAMSAN_OPTIONS: found 'colour=red'")) << ran.err;
  }
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

// One that is broken does not hide what the others hold, and does not pass for one that was judged.
TEST(Check, ABrokenInputDoesNotHideTheOthers) {
  TemporaryFile racy(kRacy, ".litmus"), malformed("stream s\ns: dance\n", ".litmus");
  Ran ran = Tool({"check", malformed.path(), racy.path()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "race-raw")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "streamsan: " + malformed.path() + ":2:4")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "INCOMPLETE")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "not analysed: " + malformed.path())) << ran.err;

  char folder[] = "/tmp/ss_traces_XXXXXX";
  ASSERT_TRUE(mkdtemp(folder));
  const std::string at = std::string(folder) + "/";
  std::ofstream(at + "0.sst") << "not a trace";
  for (const auto& entry :
       std::filesystem::directory_iterator(SS_SOURCE_DIR "/tests/gpu_traces/h200")) {
    if (entry.path().extension() != ".sst") continue;
    std::filesystem::copy_file(entry.path(), at + "1.sst");
    break;
  }
  Ran traces = Tool({"check", folder});
  EXPECT_EQ(traces.code, 2);
  EXPECT_TRUE(Has(traces.err, "streamsan: " + at + "0.sst: ")) << traces.err;
  EXPECT_TRUE(Has(traces.err, "Coverage: ")) << traces.err;
  std::filesystem::remove_all(folder);

  TemporaryFile pipe("role A {\n}\n", ".pipe"), bad("dance\n", ".pipe");
  Ran pipes = Tool({"pipeline", "check", bad.path(), pipe.path()});
  EXPECT_EQ(pipes.code, 2);
  EXPECT_TRUE(Has(pipes.err, bad.path() + ":1:1")) << pipes.err;
  EXPECT_TRUE(Has(pipes.err, "0 hazards")) << pipes.err;
}

// Of an empty file nothing can be said, and that is no success.
TEST(Check, EmptyFilesAreRefused) {
  for (const char* text : {"", "\n\n", "# nothing but this\n"}) {
    for (const char* suffix : {".litmus", ".pipe"}) {
      TemporaryFile file(text, suffix);
      Ran ran = Tool({"litmus", file.path()});
      EXPECT_EQ(ran.code, 2);
      EXPECT_TRUE(Has(ran.out, file.path() + ":1:1: found no statement")) << ran.out;
      EXPECT_TRUE(Has(ran.out, "0 passed, 1 failed")) << ran.out;
    }
  }
}

// Editors of another system put a mark first.
TEST(Check, AByteOrderMarkIsPassedOver) {
  const std::string mark = "\xef\xbb\xbf";
  TemporaryFile racy(mark + kRacy, ".litmus"), lines(mark + "race-raw:X\n", ".supp"),
      pipe(mark + "role A {\n}\n", ".pipe"), refused(mark + "#!error 1:1 dance\ndance\n", ".pipe");
  EXPECT_EQ(Tool({"check", racy.path()}).code, 66);
  EXPECT_EQ(Tool({"check", "--suppressions", lines.path(), racy.path()}).code, 0);
  EXPECT_EQ(Tool({"pipeline", "check", pipe.path()}).code, 0);
  EXPECT_TRUE(Has(Tool({"litmus", refused.path()}).out, "2:1")) << "the mark is no column";
}

// What was found is never lost with the place where it should have gone.
TEST(Check, ReportThatCannotBeWrittenStandsOnStderr) {
  const std::string file = Example("r02_streams_bad");
  Ran full = Tool({"check", "--report", "/dev/full", file});
  EXPECT_EQ(full.code, 2);
  EXPECT_TRUE(Has(full.err, "race-raw  error")) << full.err;
  Ran lines = Tool({"check", "--gen-suppressions", "/dev/full", file});
  EXPECT_EQ(lines.code, 2);
  EXPECT_TRUE(Has(lines.err, "race-raw  error")) << lines.err;
}

// What is written replaces its file.
TEST(Check, AFileThatIsReadIsNotWritten) {
  const std::string file = Example("r02_streams_bad"), text = "race-raw:another\n";
  TemporaryFile lines(text, ".supp");
  for (const char* option : {"--gen-suppressions", "--report"}) {
    Ran ran = Tool({"check", "--suppressions", lines.path(), option, lines.path(), file});
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_TRUE(Has(ran.err, "is the file of --suppressions, too")) << ran.err;
  }
  EXPECT_EQ(ReadFile(lines.path()), text);
}

TEST(Check, ReadingAndWritingFailDifferently) {
  const std::string file = Example("r02_streams_ok");
  Ran read = Tool({"check", "--suppressions", "/nowhere/x", file});
  EXPECT_TRUE(Has(read.err, "/nowhere/x: cannot be read: No such file")) << read.err;
  Ran write = Tool({"check", "--report", "/nowhere/x", file});
  EXPECT_TRUE(Has(write.err, "/nowhere/x: cannot be written: No such file")) << write.err;
  EXPECT_TRUE(Has(write.err, "(name a file in a folder")) << write.err;
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

// Of no use to anybody, and no memory holds it.
TEST(Check, AFileThatIsTooLargeIsRefused) {
  for (const char* suffix : {".litmus", ".pipe", ".json", ".cubin"}) {
    TemporaryFile file("", suffix);
    ASSERT_EQ(truncate(file.path().c_str(), off_t{300} << 30), 0);
    const std::string path = file.path();
    const std::string kind = suffix;
    Ran ran = kind == ".pipe"    ? Tool({"pipeline", "check", path})
              : kind == ".json"  ? Tool({"check", "--baseline", path, Example("r02_streams_ok")})
              : kind == ".cubin" ? Tool({"kernels", path})
                                 : Tool({"check", path});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(Has(ran.err, path + ": cannot be read: is larger than")) << ran.err;
    EXPECT_TRUE(Has(ran.err, "(is it the file that you meant?")) << ran.err;
  }
}

// What cannot be read, and what to do about it.
TEST(Usage, ErrorsSayWhatToDo) {
  TemporaryFile nonsense("nonsense", ".sst"), code("nonsense", ".cubin");
  const std::string folder = nonsense.path() + ".d", program = Example("r02_streams_ok");
  std::filesystem::create_directory(folder);
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"check", "/nowhere/x.litmus"}, "does not exist (is its path right?)"},
      {{"dump", "/nowhere/x.sst"}, "No such file or directory (is its path right?)"},
      {{"kernels", "/nowhere/x.cubin"}, "No such file or directory (is its path right?)"},
      {{"check", "--suppressions", "/nowhere/x", program},
       "cannot be read: No such file or directory (is its path right?)"},
      {{"check", folder}, "holds no .sst file (name a file, or a folder that has some)"},
      {{"dump", nonsense.path()}, "not a StreamSan trace (record one with `streamsan record"},
      {{"kernels", code.path()}, "no CUDA machine code in it (give a cubin, a fat binary"},
      {{"pipeline", "watch", "-o", "/dev/null/x", "--", "true"},
       "Not a directory (name a folder that can be written)"}};
  for (const auto& [command, said] : mistakes) {
    const Ran ran = Tool(command);
    EXPECT_EQ(ran.code, 2) << said;
    EXPECT_TRUE(Has(ran.err, said)) << ran.err;
  }
  std::filesystem::remove(folder);
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

// A disassembler is looked for where reading a kernel's code looks for it, Python packages
// included.
TEST(Doctor, NamesTheDisassemblerThatWouldBeTaken) {
  TemporaryFile tool("#!/bin/sh\n", ".nvdisasm");
  std::filesystem::permissions(tool.path(), std::filesystem::perms::owner_all);
  Ran named = Tool({"doctor"}, {{"STREAMSAN_NVDISASM", tool.path()}});
  EXPECT_TRUE(Has(named.out, tool.path())) << named.out;
  Ran wrong = Tool({"doctor"}, {{"STREAMSAN_NVDISASM", "/nowhere"}});
  EXPECT_TRUE(Has(wrong.out, "STREAMSAN_NVDISASM does not name a program")) << wrong.out;
}

}  // namespace
}  // namespace ss
