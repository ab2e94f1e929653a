// Checker and oracle on random protocols: the same stuck end states, early and overtaken waits and
// races, and every schedule that the checker shows happens in the oracle.
#include <gtest/gtest.h>

#include "tests/pipeline/compare.h"
#include "tests/pipeline/generator.h"

namespace ss::pipeline {
namespace {

constexpr uint64_t kProtocols = 12'000;
constexpr uint64_t kMaxStates = 20'000;

struct Count {
  uint64_t compared = 0, too_large = 0, clean = 0, unsafe = 0, stuck = 0;
};

void Compare(uint64_t seed, Count& count) {
  const std::string text = RandomProtocol(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
  Result<Protocol> protocol = ParseProtocol(text, "random.pipe");
  ASSERT_TRUE(protocol) << protocol.error().Text();
  const oracle::Oracle oracle(*protocol);
  const oracle::Truth truth = oracle.Explore(kMaxStates);
  if (!truth.complete) {
    ++count.too_large;
    return;
  }
  const Program program = Lower(*protocol);
  const Verdict verdict = Check(program);
  ++count.compared;
  count.unsafe += !verdict.safe;
  count.stuck += !truth.stuck.empty();
  count.clean +=
      truth.stuck.empty() && truth.early.empty() && truth.overtaken.empty() && truth.races.empty();
  EXPECT_TRUE(verdict.exhaustive);
  for (const std::string& difference : Differences(truth, verdict)) ADD_FAILURE() << difference;
  for (const std::string& broken : BrokenWitnesses(oracle, verdict)) ADD_FAILURE() << broken;
}

TEST(Random, CheckerAndOracleAgree) {
  Count count;
  for (uint64_t seed = 1; seed <= kProtocols && !HasFailure(); ++seed) Compare(seed, count);
  RecordProperty("compared", static_cast<int>(count.compared));
  RecordProperty("unsafe", static_cast<int>(count.unsafe));
  printf("%lu compared (%lu clean, %lu unsafe, %lu with a hang), %lu too large\n", count.compared,
         count.clean, count.unsafe, count.stuck, count.too_large);
  // The generator must not drift to one kind.
  EXPECT_GT(count.compared, kProtocols * 3 / 4);
  EXPECT_GT(count.clean, kProtocols / 10);
  EXPECT_GT(count.unsafe, kProtocols / 10);
  EXPECT_GT(count.stuck, kProtocols / 10);
}

}  // namespace
}  // namespace ss::pipeline
