// `streamsan run --confirm`: an incident on the virtual GPU with its first operation held back, and
// the same with each kind of fix.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

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
    program_ = kBin + program;
    fault_ = "--fault=" + fault;
    Ran ran =
        Spawn({kBin + "streamsan", "record", "-o", Trace(), "--", program_, fault_}, kVirtualGpu);
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_TRUE(Has(ran.out, "data: right")) << ran.out;  // it does not strike by itself
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
  EXPECT_TRUE(Has(ran.out, "data: wrong")) << ran.out;
}

TEST_F(Confirm, ALifetimeStrikesAtTheReuse) {
  Record("moe_combine", "missing-compute-record");
  Ran ran = Try({fault_});
  EXPECT_EQ(Outcome(ran), "confirmed");
  EXPECT_TRUE(Has(ran.out, "data: wrong")) << ran.out;
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
