// `streamsan run` and `record` around real programs on the virtual GPU: exit codes, every way to
// end, the committed samples of both reports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/mask.h"
#include "tests/cli/process.h"

namespace ss {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const std::string kBin = SS_BINARY_DIR "/bin/";

Environment WithVirtualGpu(Environment more = {}) {
  more.push_back({"LD_LIBRARY_PATH", SS_BINARY_DIR "/lib/vgpu"});
  return more;
}

std::vector<std::string> Words(std::vector<std::string> options, const std::string& program,
                               const std::vector<std::string>& arguments) {
  options.insert(options.begin(), kBin + "streamsan");
  options.insert(options.end(), {"--", kBin + program});
  options.insert(options.end(), arguments.begin(), arguments.end());
  return options;
}

Ran RunEnding(const std::vector<std::string>& arguments, std::vector<std::string> options = {"run"},
              Environment environment = {}) {
  return Spawn(Words(std::move(options), "ending", arguments),
               WithVirtualGpu(std::move(environment)));
}

Json JsonOf(const Ran& ran) { return Json::parse(ran.err); }

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/ss_run_XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Run, BreadcrumbsTellHowFarAStreamHadCome) {
  for (const char* schedule : {"eager", "lazy", "random"}) {
    const Environment environment = WithVirtualGpu({{"VGPU_SCHED", schedule}});
    const Ran plain = Spawn(Words({"run", "--format", "json"}, "stuck", {}), environment);
    const Ran marked =
        Spawn(Words({"run", "--breadcrumbs", "--format", "json"}, "stuck", {}), environment);
    EXPECT_EQ(marked.code, 128 + SIGKILL) << marked.err;
    EXPECT_EQ(plain.out, "2 nodes\n");
    EXPECT_EQ(marked.out, plain.out);  // no mark came into the graph
    const Json without = JsonOf(plain), with = JsonOf(marked);
    EXPECT_EQ(without["trails"], Json::array());
    // No other difference: marks are no operations of the program.
    EXPECT_EQ(with["stats"]["operations"], without["stats"]["operations"]);
    EXPECT_EQ(with["coverage"], without["coverage"]);
    ASSERT_EQ(with["trails"].size(), 3U) << with["trails"].dump(1);
    const Json& one = with["trails"][0];
    EXPECT_EQ(one["finished"]["name"], "memset");
    EXPECT_EQ(one["next"]["name"], "host_fn");
    EXPECT_EQ(one["behind"], 2);
    EXPECT_EQ(with["trails"][1]["finished"]["name"], "copy");
    EXPECT_EQ(with["trails"][1]["next"], nullptr);
    EXPECT_EQ(with["trails"][2]["finished"]["name"], "graph#1");
    EXPECT_EQ(with["trails"][2]["next"], nullptr);
  }
}

TEST(Run, BreadcrumbsOfAProgramThatEndsAreNotTold) {
  const Ran ran = RunEnding({"exit", "0"}, {"run", "--breadcrumbs", "--format", "json"});
  EXPECT_EQ(ran.code, 66);
  EXPECT_EQ(JsonOf(ran)["trails"], Json::array());
  const Ran killed = RunEnding({"kill"}, {"run", "--breadcrumbs"});
  EXPECT_EQ(killed.code, 66);
  EXPECT_NE(killed.err.find("not finished  nothing: all was done"), std::string::npos)
      << killed.err;
}

TEST(Run, HazardsBeatTheProgramsOwnCode) {
  EXPECT_EQ(RunEnding({"exit", "0"}).code, 66);
  EXPECT_EQ(RunEnding({"exit", "5"}).code, 66);
  EXPECT_EQ(RunEnding({"exit", "5"}, {"run", "--error-exitcode", "9"}).code, 9);
}

TEST(Run, WithoutHazardsItIsTheProgramsCode) {
  TemporaryFile all("*:*\n");
  std::vector<std::string> quiet = {"run", "--suppressions", all.path()};
  EXPECT_EQ(RunEnding({"exit", "0"}, quiet).code, 0);
  EXPECT_EQ(RunEnding({"exit", "5"}, quiet).code, 5);
  EXPECT_EQ(RunEnding({"abort"}, quiet).code, 128 + SIGABRT);
}

TEST(Run, TheReportIsThereHoweverTheProgramEnds) {
  for (const char* how : {"exit", "_exit", "abort", "kill", "fork"}) {
    Ran ran = RunEnding({how});
    EXPECT_EQ(ran.code, 66) << how;
    EXPECT_TRUE(Has(ran.err, "race-waw")) << how << ": " << ran.err;
    EXPECT_EQ(ran.out, "ready\n") << how;
  }
}

// Starts "hang" or "stubborn", waits until it hangs, and then does what `act` does.
template <typename Act>
Ran Interrupted(const char* how, Act act) {
  Child child(Words({"run"}, "ending", {how}), WithVirtualGpu());
  for (int i = 0; i < 3000 && child.out().empty(); ++i) usleep(10'000);
  EXPECT_EQ(child.out(), "ready\n");
  act(child);
  return child.Wait();
}

TEST(Run, AHangThatIsInterruptedIsReported) {
  for (int signal : {SIGINT, SIGTERM}) {
    Ran ran = Interrupted("hang", [&](const Child& child) { child.Signal(signal); });
    EXPECT_EQ(ran.code, 66);
    EXPECT_TRUE(Has(ran.err, "race-waw")) << ran.err;
  }
}

TEST(Run, TheSecondInterruptKillsAProgramThatIgnoresTheFirst) {
  Ran ran = Interrupted("stubborn", [](const Child& child) {
    child.Signal(SIGINT);
    usleep(200'000);
    child.Signal(SIGINT);
  });
  EXPECT_EQ(ran.code, 66);
  EXPECT_TRUE(Has(ran.err, "race-waw")) << ran.err;
}

TEST(Run, NoUseOfTheDriverIsNotAClaimOfZeroHazards) {
  Ran ran = RunEnding({"idle", "3"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_FALSE(Has(ran.err, "0 hazards")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "INCOMPLETE")) << ran.err;
  EXPECT_EQ(RunEnding({"idle", "0"}, {"run", "--require-coverage"}).code, 3);
}

TEST(Run, AProgramThatCannotBeStartedIsAUsageError) {
  Ran ran = Tool({"run", "--", "/nowhere/app"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "/nowhere/app: cannot be run")) << ran.err;
}

TEST(Run, DisabledMeansUntouched) {
  Ran ran = RunEnding({"exit", "4"}, {"run"}, {{"STREAMSAN_OPTIONS", "disable=1"}});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.err,
            "streamsan: disable=1 in STREAMSAN_OPTIONS: the program runs unwatched, there will be "
            "no report\n");
  Ran record = RunEnding({"exit", "0"}, {"record", "-o", "/tmp/ss_never_made.sst"},
                         {{"STREAMSAN_OPTIONS", "disable=1"}});
  EXPECT_EQ(record.code, 0);
  EXPECT_TRUE(Has(record.err, "unwatched, nothing is recorded")) << record.err;
}

TEST(Run, HaltsAtTheFirstHazardOnRequest) {
  Ran ran = RunEnding({"hang"}, {"run"}, {{"STREAMSAN_OPTIONS", "halt_on_error=1"}});
  EXPECT_EQ(ran.code, 66);
  EXPECT_TRUE(Has(ran.err, "race-waw")) << ran.err;
}

TEST(Run, WhatWasPreloadedStaysPreloaded) {
  std::string command = "echo $LD_PRELOAD";
  Ran ran = Spawn({kBin + "streamsan", "run", "--", "/bin/sh", "-c", command},
                  {{"LD_PRELOAD", "/lib/x86_64-linux-gnu/libdl.so.2"}});
  EXPECT_TRUE(Has(ran.out, "/libdl.so.2:")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "libstreamsan_capture.so")) << ran.out;
}

TEST(Record, TheTraceGivesTheSameReport) {
  Folder folder;
  Ran record = RunEnding({"exit", "5"}, {"record", "-o", folder / "run.sst"});
  EXPECT_EQ(record.code, 5) << record.err;
  Json live = JsonOf(RunEnding({"exit", "5"}, {"run", "--format", "json"}));
  Ran check = Tool({"check", "--format", "json", folder / "run.sst"});
  EXPECT_EQ(check.code, 66);
  Json later = JsonOf(check);
  ASSERT_EQ(later["hazards"].size(), 1u);
  EXPECT_EQ(later["hazards"], live["hazards"]);
  EXPECT_TRUE(later["coverage"]["complete"].get<bool>()) << later["coverage"];
  EXPECT_TRUE(Has(Tool({"dump", folder / "run.sst"}).out, "Memset")) << "dump";
}

TEST(Record, ADirectoryGetsOneTraceAProcess) {
  Folder folder;
  RunEnding({"exit"}, {"run", "-o", folder / "traces"});
  size_t traces = 0;
  for (const auto& entry : fs::directory_iterator(folder / "traces")) {
    EXPECT_EQ(entry.path().extension(), ".sst");
    ++traces;
  }
  EXPECT_EQ(traces, 1u);
  EXPECT_EQ(Tool({"check", folder / "traces"}).code, 66);
  EXPECT_EQ(RunEnding({"exit"}, {"run", "-o", "/proc/nowhere/x.sst"}).code, 2);
}

TEST(Record, ACutTraceSaysSoAndIsStillChecked) {
  Folder folder;
  RunEnding({"exit"}, {"record", "-o", folder / "run.sst"});
  fs::resize_file(folder / "run.sst", fs::file_size(folder / "run.sst") - 3);
  Ran check = Tool({"check", folder / "run.sst"});
  EXPECT_EQ(check.code, 66);
  EXPECT_TRUE(Has(check.err, "INCOMPLETE")) << check.err;
  TemporaryFile all("*:*\n");
  std::vector<std::string> quiet = {"check", "--suppressions", all.path(), folder / "run.sst"};
  EXPECT_EQ(Tool(quiet).code, 0);
  quiet.push_back("--require-coverage");
  EXPECT_EQ(Tool(quiet).code, 3);
  quiet.back() = "--require-coverage=50";
  EXPECT_EQ(Tool(quiet).code, 0);
}

// --- the committed samples
// -------------------------------------------------------------------------

void ExpectGolden(const std::string& name, const std::string& text) {
  std::string path = SS_SOURCE_DIR "/tests/report/golden/" + name;
  if (std::getenv("STREAMSAN_UPDATE_GOLDEN")) std::ofstream(path) << text;
  EXPECT_EQ(ReadFile(path), text) << path;
}

void MaskJson(Json& json) {
  if (json.is_array()) {
    for (Json& item : json) MaskJson(item);
  }
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    if (key == "stack") {
      value = value.empty() ? "EMPTY" : "FRAMES";
    } else if (key == "pid" || key == "seconds" || key == "version" || key == "id") {
      value = "MASKED";
    } else {
      MaskJson(value);
    }
  }
  if (json.contains("advice")) json["advice"] = json["advice"].empty() ? "EMPTY" : "SOME";
  if (json.contains("program")) json["program"]["name"] = "MASKED";
}

TEST(Golden, Incident1AsText) {
  Ran ran = Spawn(Words({"run"}, "moe_combine", {}), WithVirtualGpu());
  EXPECT_EQ(ran.code, 66);
  EXPECT_EQ(ran.out, "data: right\n");
  ExpectGolden("incident1.txt", MaskText(ran.err));
}

TEST(Golden, Incident1AsJson) {
  Ran ran = Spawn(Words({"run", "--format", "json"}, "moe_combine", {}), WithVirtualGpu());
  Json json = JsonOf(ran);
  EXPECT_FALSE(json["hazards"][0]["first"]["stack"].empty());
  MaskJson(json);
  ExpectGolden("incident1.json", json.dump(2) + "\n");
}

TEST(Golden, TwoRunsOfOneProgramAreEqual) {
  auto report = [] {
    Ran ran = Spawn(Words({"run"}, "zero3_reduce", {}), WithVirtualGpu());
    return Replace(ran.err, "==[0-9]+==", "==PID==");
  };
  EXPECT_EQ(report(), report());
}

TEST(Golden, LitmusFileAsText) {
  Ran ran = Tool({"check", SS_SOURCE_DIR "/tests/litmus/examples/incident1_lifetime.litmus"});
  ExpectGolden("litmus.txt", ran.err);
}

TEST(Golden, EachFixedIncidentIsSilent) {
  struct {
    const char *program, *fix;
  } kFixed[] = {{"moe_combine", "record-compute"},
                {"zero3_reduce", "wait"},
                {"ep_combine_fill", "alloc-before-wait"}};
  for (auto [program, fix] : kFixed) {
    Ran ran = Spawn(Words({"run"}, program, {std::string("--fix=") + fix}), WithVirtualGpu());
    EXPECT_EQ(ran.code, 0) << program << ": " << ran.err;
    EXPECT_TRUE(Has(ran.err, "0 hazards")) << program << ": " << ran.err;
  }
}

}  // namespace
}  // namespace ss
