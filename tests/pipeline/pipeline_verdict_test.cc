// The checker on the shipped protocols: beside the oracle, and by the formula of rule 28.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/pipeline/picture.h"
#include "tests/pipeline/compare.h"

namespace ss::pipeline {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Agreement with the oracle; the verdict, for more.
Verdict CheckBoth(const Protocol& protocol, uint64_t max_states) {
  const oracle::Oracle oracle(protocol);
  const Verdict verdict = Check(Lower(protocol));
  const oracle::Truth truth = oracle.Explore(max_states);
  EXPECT_TRUE(truth.complete);
  for (const std::string& difference : Differences(truth, verdict)) ADD_FAILURE() << difference;
  for (const std::string& broken : BrokenWitnesses(oracle, verdict)) ADD_FAILURE() << broken;
  return verdict;
}

bool Hangs(const Verdict& verdict, const std::string& role) {
  return std::any_of(verdict.stuck.begin(), verdict.stuck.end(),
                     [&](const auto& roles) { return roles == std::set<std::string>{role}; });
}

TEST(Verdict, ShippedProtocolsAreJudgedAsTheOracleDoes) {
  int files = 0;
  for (const char* folder : {"pipe", "corpus"}) {
    for (const auto& entry :
         fs::directory_iterator(fs::path(SS_SOURCE_DIR "/tests/litmus") / folder)) {
      const std::string text = ReadFile(entry.path());
      const std::string name = entry.path().filename();
      if (entry.path().extension() != ".pipe" || text.rfind("#!error", 0) == 0) continue;
      if (name.rfind("gdn_like", 0) == 0) continue;  // too many states for every run
      SCOPED_TRACE(name);
      Result<Protocol> protocol = ParseProtocol(text, name);
      ASSERT_TRUE(protocol) << protocol.error().Text();
      CheckBoth(*protocol, 400'000);
      ++files;
    }
  }
  EXPECT_GT(files, 60);
}

// Rule 28: a stranger's tail is wrong for every count; it hangs iff a slot was completed an odd
// number of times.
TEST(Verdict, NonOwnersTailIsReportedForEveryCountAndHangsByTheFormula) {
  for (int stages = 1; stages <= 4; ++stages) {
    for (int chunks = 0; chunks <= 9; ++chunks) {
      const std::string text = fmt::format(
          "pipeline p stages {} producers A consumers B\n"
          "role A {{ for {} {{ acquire p; write p; commit p }}; tail p }}\n"
          "role B {{ for {} {{ wait p; read p; release p }} }}\n"
          "role C {{ tail p }}\n",
          stages, chunks, chunks);
      SCOPED_TRACE(text);
      Result<Protocol> protocol = ParseProtocol(text, "tail.pipe");
      ASSERT_TRUE(protocol) << protocol.error().Text();
      const Verdict verdict = CheckBoth(*protocol, 100'000);
      ASSERT_FALSE(verdict.findings.empty());
      EXPECT_EQ(verdict.findings[0].code, "pipeline-owner");
      EXPECT_EQ(verdict.findings[0].role, "C");
      EXPECT_EQ(Hangs(verdict, "C"), chunks % (2 * stages) != 0);
      EXPECT_EQ(verdict.stuck.size(), chunks % (2 * stages) != 0 ? 1u : 0u);
    }
  }
}

// What the event graph decides alone costs no search; a stray tail in a large kernel costs little.
TEST(Verdict, TheLargeProtocolNeedsFewStates) {
  for (const char* name :
       {"pipe/gdn_like", "pipe/gdn_like_stray_tail", "pipe_large/gdn_like_big"}) {
    Result<Protocol> protocol =
        ParseProtocol(ReadFile(fmt::format(SS_SOURCE_DIR "/tests/litmus/{}.pipe", name)), name);
    ASSERT_TRUE(protocol) << protocol.error().Text();
    const Verdict verdict = Check(Lower(*protocol));
    const bool stray = !protocol->expectations.empty();
    EXPECT_EQ(verdict.safe, !stray);
    EXPECT_LE(verdict.states, stray ? 50u : 0u);
    EXPECT_TRUE(verdict.exhaustive);
  }
}

TEST(Verdict, SaysWhenTheSearchWasCutOff) {
  Result<Protocol> protocol =
      ParseProtocol(ReadFile(SS_SOURCE_DIR "/tests/litmus/pipe/r27_overtake.pipe"), "f");
  ASSERT_TRUE(protocol);
  const Program program = Lower(*protocol);
  const Verdict verdict = Check(program, {3});
  EXPECT_FALSE(verdict.exhaustive);
  bool possible = false;
  for (const Finding& finding : verdict.findings) possible |= !finding.certain;
  EXPECT_TRUE(possible);
}

TEST(Picture, EndsWithWhatTheStuckRoleWaitsFor) {
  Result<Protocol> protocol =
      ParseProtocol(ReadFile(SS_SOURCE_DIR "/tests/litmus/pipe/gdn_like_stray_tail.pipe"), "f");
  ASSERT_TRUE(protocol);
  const Program program = Lower(*protocol);
  const Verdict verdict = Check(program);
  ASSERT_GE(verdict.findings.size(), 2u);
  const Picture picture = MakePicture(program, verdict.findings[1]);
  EXPECT_EQ(picture.lanes, (std::vector<std::string>{"CG0", "CG1", "EPI"}));
  EXPECT_EQ(picture.rows.size(), kMaxPictureRows + 1);
  EXPECT_EQ(picture.rows.back().lane, 0u);
  EXPECT_EQ(picture.rows.back().text, "tail o_store");
  EXPECT_EQ(picture.rows.back().note,
            "waits: empty[0] 3 complete, needs 0 (parity 1: even numbers pass)");
}

}  // namespace
}  // namespace ss::pipeline
