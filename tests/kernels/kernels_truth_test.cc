// Summaries of kernels whose accesses are known, from committed machine code, per architecture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/kernels/fixture.h"
#include "tests/kernels/truth.h"

namespace ss::kernels {
namespace {

struct Set {
  const char* name;
  const char* source;
  int arch;
  int kernels;
  double precision, precision_of_pointers, recall;  // at least
};

// Of a Python prototype on the same kernels: 163 items right, 20 extra (4 of pointers), 1 missing.
constexpr double kPrecision = 163.0 / 183, kOfPointers = 163.0 / 167, kRecall = 163.0 / 164;

// The same kernels compiled with -G, where every value lives in local memory; the prototype: .82,
// .89, .963.
constexpr double kUnoptimised = .86, kUnoptimisedOfPointers = .95, kUnoptimisedRecall = .969;

class Truths : public testing::TestWithParam<Set> {};

TEST_P(Truths, NoWorseThanRequiredAndNothingWrongInSilence) {
  const Set& set = GetParam();
  auto fixture = LoadFixture(set.name, set.arch);
  std::string source =
      ReadTestFile(fmt::format("{}/tests/kernels/{}.cu", SS_SOURCE_DIR, set.source));
  auto truths = ReadTruth(source);
  ASSERT_FALSE(truths.empty());
  Analyser analyser(fixture->cubin, fixture->code);
  Score score;
  for (const KernelSummary& summary : analyser.All()) {
    auto truth = truths.find(summary.name);
    if (truth == truths.end()) continue;
    Compare(summary, ParseTruth(truth->second, summary.params), score);
  }
  fmt::print(
      "{:<12} kernels {:3} right {:3} extra {:2} (of pointers {}) missing {}  precision {:.3f} "
      "of pointers {:.3f} recall {:.3f}\n",
      fixture->name, score.kernels, score.right, score.extra, score.extra_pointers, score.missing,
      score.Precision(), score.PrecisionOfPointers(), score.Recall());
  EXPECT_EQ(score.kernels, set.kernels);
  EXPECT_GE(score.Precision(), set.precision);
  EXPECT_GE(score.PrecisionOfPointers(), set.precision_of_pointers);
  EXPECT_GE(score.Recall(), set.recall);
  for (const std::string& wrong : score.silent) ADD_FAILURE() << wrong;
}

INSTANTIATE_TEST_SUITE_P(
    Committed, Truths,
    testing::Values(
        Set{"basic", "basic", 80, 61, kPrecision, kOfPointers, kRecall},
        Set{"basic", "basic", 90, 61, kPrecision, kOfPointers, kRecall},
        Set{"basic", "basic", 100, 61, kPrecision, kOfPointers, kRecall},
        Set{"more", "more", 80, 36, .95, .99, 1}, Set{"more", "more", 90, 40, .95, .99, 1},
        Set{"more", "more", 100, 40, .95, .99, 1}, Set{"tma", "tma", 90, 16, 1, 1, 1},
        Set{"tma", "tma", 100, 16, 1, 1, 1},
        Set{"basicg", "basic", 80, 61, kUnoptimised, kUnoptimisedOfPointers, kUnoptimisedRecall},
        Set{"basicg", "basic", 90, 61, kUnoptimised, kUnoptimisedOfPointers, kUnoptimisedRecall},
        Set{"basicg", "basic", 100, 61, kUnoptimised, kUnoptimisedOfPointers, kUnoptimisedRecall}),
    [](const auto& info) { return fmt::format("{}_sm{}", info.param.name, info.param.arch); });

using Bytes = std::map<int32_t, std::pair<int32_t, int32_t>>;  // by offset of the word

Bytes BytesOf(const std::vector<KernelSummary>& all, const std::string& name) {
  Bytes bytes;
  for (const KernelSummary& summary : all) {
    if (summary.name != name) continue;
    for (const Access& access : summary.accesses) {
      if (access.root == Root::kParam) bytes[access.offset] = {access.first, access.last};
    }
  }
  return bytes;
}

// Known where nothing but constants went into the address; with an index or in a loop they are not.
TEST(KnownBytes, OfFixedPlacesAlone) {
  for (int arch : {80, 90, 100}) {
    auto fixture = LoadFixture("basic", arch);
    Analyser analyser(fixture->cubin, fixture->code);
    const std::vector<KernelSummary> all = analyser.All();
    EXPECT_EQ(BytesOf(all, "list"), (Bytes{{0, {0, 0}}, {8, {0, 4}}})) << arch;
    EXPECT_EQ(BytesOf(all, "volatile_k"), (Bytes{{0, {0, 4}}, {8, {0, 4}}})) << arch;
    EXPECT_EQ(BytesOf(all, "atomics"),
              (Bytes{{0, {0, 8}}, {8, {0, 8}}, {16, {0, 4}}, {24, {0, 4}}, {32, {0, 4}}}))
        << arch;
    EXPECT_EQ(BytesOf(all, "saxpy"), (Bytes{{8, {0, 0}}, {16, {0, 0}}})) << arch;
  }
}

}  // namespace
}  // namespace ss::kernels
