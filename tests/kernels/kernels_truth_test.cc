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
        Set{"more", "more", 100, 40, .95, .99, 1}, Set{"odd", "odd", 80, 49, .97, .99, .99},
        Set{"odd", "odd", 90, 51, .97, .99, .99}, Set{"odd", "odd", 100, 51, .97, .99, .99},
        Set{"tma", "tma", 90, 16, 1, 1, 1}, Set{"tma", "tma", 100, 16, 1, 1, 1},
        Set{"basicg", "basic", 80, 61, kUnoptimised, kUnoptimisedOfPointers, kUnoptimisedRecall},
        Set{"basicg", "basic", 90, 61, kUnoptimised, kUnoptimisedOfPointers, kUnoptimisedRecall},
        Set{"basicg", "basic", 100, 61, kUnoptimised, kUnoptimisedOfPointers, kUnoptimisedRecall}),
    [](const auto& info) { return fmt::format("{}_sm{}", info.param.name, info.param.arch); });

// "@0=0-4 @2=-8-400s": the bytes that a summary knows, by parameter.
std::string BytesOf(const KernelSummary& summary) {
  std::string text;
  for (const Access& access : summary.accesses) {
    if (access.first == access.last) continue;
    size_t ordinal = 0;
    while (ordinal + 1 < summary.params.size() &&
           int32_t(summary.params[ordinal + 1].offset) <= access.offset) {
      ++ordinal;
    }
    text += fmt::format("{}@{}={}-{}{}", text.empty() ? "" : " ", ordinal, access.first,
                        access.last, access.scattered ? "s" : "");
  }
  return text;
}

std::map<std::string, std::string> BytesByKernel(const std::string& set, int arch) {
  auto fixture = LoadFixture(set, arch);
  Analyser analyser(fixture->cubin, fixture->code);
  std::map<std::string, std::string> bytes;
  for (const KernelSummary& summary : analyser.All()) bytes[summary.name] = BytesOf(summary);
  return bytes;
}

// Known where nothing but constants went into the address; with an index, in a loop, behind a mask
// or a choice they are not. All of what the source says, and no byte more or less.
TEST(KnownBytes, OfFixedPlacesAlone) {
  const std::string source = ReadTestFile(fmt::format("{}/tests/kernels/odd.cu", SS_SOURCE_DIR));
  const auto truths = ReadTruth(source), bytes = ReadTruth(source, "//BYTES ");
  ASSERT_GT(bytes.size(), 10u);
  for (int arch : {80, 90, 100}) {
    size_t known = 0;
    for (const auto& [kernel, found] : BytesByKernel("odd", arch)) {
      if (!truths.contains(kernel)) continue;
      const auto expected = bytes.find(kernel);
      const std::string line = expected == bytes.end() ? "" : expected->second;
      EXPECT_EQ(found, line.substr(std::min(line.size(), line.find_first_not_of(' '))))
          << kernel << " sm_" << arch;
      known += !found.empty();
    }
    EXPECT_GT(known, 10u) << arch;
  }
}

TEST(KnownBytes, OfOrdinaryKernels) {
  for (int arch : {80, 90, 100}) {
    std::map<std::string, std::string> bytes = BytesByKernel("basic", arch);
    EXPECT_EQ(bytes["list"], "@1=0-4") << arch;
    EXPECT_EQ(bytes["volatile_k"], "@0=0-4 @1=0-4") << arch;
    EXPECT_EQ(bytes["atomics"], "@0=0-8 @1=0-8 @2=0-4 @3=0-4 @4=0-4") << arch;
    EXPECT_EQ(bytes["saxpy"], "") << arch;
  }
}

}  // namespace
}  // namespace ss::kernels
