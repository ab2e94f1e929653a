// `streamsan run --confirm`: an incident on the virtual GPU with its first operation held back, and
// the same with each kind of fix.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/process.h"

namespace ss {
namespace {

using Json = nlohmann::json;

const std::string kBin = SS_BINARY_DIR "/bin/";
const Environment kVirtualGpu = {{"LD_LIBRARY_PATH", SS_BINARY_DIR "/lib/vgpu"}};

// A recording of one incident's fault, in which H1 is the hazard.
class Confirm : public ::testing::Test {
 protected:
  void Record(const std::string& program, const std::string& fault) {
    fault_ = "--fault=" + fault;
    Ran ran = RecordWith(program, fault_);
    ASSERT_TRUE(Has(ran.out, "data: right")) << ran.out;  // it does not strike by itself
  }

  Ran RecordWith(const std::string& program, const std::string& argument) {
    program_ = kBin + program;
    Ran ran =
        Spawn({kBin + "streamsan", "record", "-o", Trace(), "--", program_, argument}, kVirtualGpu);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran;
  }

  Ran Try(const std::vector<std::string>& more, const std::string& id = "H1") {
    std::vector<std::string> words = {kBin + "streamsan", "run",   "--confirm", id,
                                      "--from",           Trace(), "--hold",    "1",
                                      "--format",         "json",  "--",        program_};
    words.insert(words.end(), more.begin(), more.end());
    return Spawn(words, kVirtualGpu);
  }

  static std::string Outcome(const Ran& ran) {
    const Json report = Json::parse(ran.err, nullptr, false);
    if (report.is_discarded() || report["trials"].size() != 1) return "no trial: " + ran.err;
    return report["trials"][0]["outcome"];
  }

  std::string Trace() const { return folder_ + "/run.sst"; }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = [] {
    char path[] = "/tmp/ss_confirm_XXXXXX";
    return std::string(mkdtemp(path));
  }();
  std::string program_, fault_;
};

TEST_F(Confirm, ARaceStrikesWhenItsFirstOperationIsHeld) {
  Record("zero3_reduce", "wrong-producer");
  Ran ran = Try({fault_});
  EXPECT_EQ(Outcome(ran), "confirmed");
  EXPECT_EQ(ran.code, 66);
  EXPECT_TRUE(Has(ran.out, "data: WRONG")) << ran.out;
}

TEST_F(Confirm, ALifetimeStrikesAtTheReuse) {
  Record("moe_combine", "missing-compute-record");
  Ran ran = Try({fault_});
  EXPECT_EQ(Outcome(ran), "confirmed");
  EXPECT_TRUE(Has(ran.out, "data: WRONG")) << ran.out;
}

TEST_F(Confirm, WithAFixItIsNotConfirmedAndNothingHangs) {
  Record("zero3_reduce", "wrong-producer");
  for (const auto& [fix, outcome] : {std::pair{"wait", "waited"}, {"host-sync", "not-issued"}}) {
    Ran ran = Try({fault_, std::string("--fix=") + fix});
    EXPECT_EQ(Outcome(ran), outcome) << fix;
    EXPECT_EQ(ran.code, 0) << fix;
    EXPECT_TRUE(Has(ran.out, "data: right")) << fix << ran.out;
  }
}

// The block is another one then: the call that overtakes does no harm.
TEST_F(Confirm, WithRecordStreamTheRunHasNoHazard) {
  Record("moe_combine", "missing-compute-record");
  Ran ran = Try({fault_, "--fix=record-compute"});
  EXPECT_EQ(Outcome(ran), "gone");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.out, "data: right")) << ran.out;
}

// A trial in words, as one line, without what differs from run to run.
std::string TrialIn(const std::string& report, size_t from = 0) {
  const size_t at = report.find("StreamSan: trial of ", from);
  if (at == std::string::npos) return "no trial in " + report;
  const size_t end = std::min(report.find("\n\n", at), report.find("\n```", at));
  std::string text = report.substr(at, end - at);
  text = std::regex_replace(text, std::regex("\n +"), " ");
  return std::regex_replace(text, std::regex("held back for [0-9.e-]+ s"), "held back for N s");
}

TEST_F(Confirm, TheDocumentSaysWhatTheToolSays) {
  Record("zero3_reduce", "wrong-producer");
  const std::string page = ReadFile(SS_SOURCE_DIR "/docs/explain.md");
  size_t at = page.find("## Does it strike?");
  for (const char* fix : {"none", "wait", "host-sync"}) {
    const Ran ran = Spawn({kBin + "streamsan", "run", "--confirm", "H1", "--from", Trace(),
                           "--hold", "1", "--", program_, fault_, std::string("--fix=") + fix},
                          kVirtualGpu);
    EXPECT_EQ(TrialIn(page, at), TrialIn(ran.err)) << fix;
    at = page.find("trial of", at) + 1;
  }
}

TEST_F(Confirm, OneOperationIsTriedByItsPlaceAndNumber) {
  RecordWith("trial", "fs");
  for (const auto& [steps, outcome] : {std::pair{"fs", "confirmed"},
                                       {"fws", "waited"},
                                       {"fys", "not-issued"},
                                       {"sf", "came-first"},
                                       {"f", "not-issued"},
                                       {"s", "not-reached"},
                                       {"gfls", "in-graph"},
                                       {"cfsx", "confirmed"}}) {
    EXPECT_EQ(Outcome(Try({steps})), outcome) << steps;
  }
  RecordWith("trial", "fsyfs");  // the first pair is one hazard with the second
  EXPECT_EQ(Outcome(Try({"fsyfs"})), "confirmed");
}

// The CPU reads what the copy has not brought.
TEST_F(Confirm, AnAnnotatedAccessOfTheCpuOvertakes) {
  RecordWith("trial", "fhr");
  Ran ran = Try({"fhr"});
  EXPECT_EQ(Outcome(ran), "confirmed");
  EXPECT_TRUE(Has(ran.out, "read 0")) << ran.out;
  ran = Try({"fhyr"});
  EXPECT_EQ(Outcome(ran), "not-issued");
  EXPECT_TRUE(Has(ran.out, "read 1")) << ran.out;
}

// Storage that was handed out and not used again yet: it was freed under the use.
TEST_F(Confirm, ALifetimeWithoutANewUseStrikesAtTheFree) {
  RecordWith("trial", "pfwsqp");
  Ran ran = Try({"pfwsqp"});
  EXPECT_EQ(Outcome(ran), "confirmed") << ran.err;
  EXPECT_EQ(Outcome(Try({"pfwsyqp"})), "confirmed");  // the host has not waited for b
  RecordWith("trial", "pfwsqp");
  EXPECT_EQ(Outcome(Try({"pfws"})), "not-issued");
}

TEST_F(Confirm, WorkOfAGraphCannotBeHeld) {
  RecordWith("trial", "gfls");
  Ran ran = Try({"gfls"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "cannot be held back")) << ran.err;
}

TEST_F(Confirm, AnotherProgramDoesNotReachIt) {
  Record("zero3_reduce", "wrong-producer");
  program_ = kBin + "moe_combine";
  EXPECT_EQ(Outcome(Try({})), "not-reached");
}

TEST_F(Confirm, AnUnknownIdAndAMissingTraceAreUsageErrors) {
  Record("zero3_reduce", "wrong-producer");
  Ran ran = Try({fault_}, "H9");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "no hazard 'H9'") && Has(ran.err, "H1 ")) << ran.err;
  EXPECT_EQ(Tool({"run", "--confirm", "H1", "--", program_}).code, 2);
  EXPECT_EQ(Tool({"run", "--confirm", "H1", "--from", "/nowhere.sst", "--", program_}).code, 2);
}

}  // namespace
}  // namespace ss
