// What is used after its free: the free moves behind the use, unless somebody has got the storage.
#include <gtest/gtest.h>

#include "src/explain/analyse.h"
#include "src/litmus/litmus.h"

namespace ss {
namespace {

std::string Text(const std::string& between) {
  return "stream owner\nstream user\nstream other\nalloc T 12K on owner\n" + between;
}

LitmusFile Parsed(const std::string& between) {
  auto file = ParseLitmus(Text(between), "test.litmus");
  EXPECT_TRUE(file.has_value());
  return file ? std::move(*file) : LitmusFile{};
}

bool OffersFreeLater(const std::string& between) {
  const Report report = AnalyseProgram(Parsed(between).program, {});
  EXPECT_FALSE(report.findings.empty());
  for (const Finding& finding : report.findings) {
    for (const Fix& fix : finding.fixes) {
      if (fix.kind == FixKind::kFreeLater) return fix.verified;
    }
  }
  return false;
}

WhatIf WithFirstFixes(const Program& program) {
  Analysis analysis(program, {});
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  EdgeRequest all;
  all.kind = EdgeRequest::Kind::kFirstFixes;
  Result<WhatIf> result = analysis.Try({all}, Confidence::kLikely);
  EXPECT_TRUE(result.has_value());
  return result ? std::move(*result) : WhatIf{};
}

TEST(FreeLater, IsOfferedForAUseAfterTheFree) {
  EXPECT_TRUE(OffersFreeLater("free T\nuser: kernel k read T as late\n"));
}

TEST(FreeLater, IsNotOfferedWhereTheFreeComesBehindAQueuedUse) {
  EXPECT_FALSE(OffersFreeLater("user: kernel k read T as use\nfree T\n"));
}

TEST(FreeLater, IsNotOfferedWhereTheStorageIsSomebodyElsesByThen) {
  EXPECT_FALSE(
      OffersFreeLater("free T\nalloc N 12K on owner reuse T\nowner: kernel w write N\n"
                      "user: kernel k read T as late\n"));
}

// Each hazard by itself moves the free behind its own use: together it is freed once, behind both.
TEST(FreeLater, MovesOneFreeBehindTheUsesOfSeveralStreams) {
  for (const char* uses : {"user: kernel a read T\nother: kernel b read T\n",
                           "other: kernel b read T\nuser: kernel a read T\n"}) {
    const LitmusFile file = Parsed(std::string("free T\n") + uses);
    const WhatIf result = WithFirstFixes(file.program);
    EXPECT_EQ(result.gone.size(), 2u) << uses;
    EXPECT_TRUE(result.stay.empty() && result.fresh.empty()) << uses;
    size_t frees = 0;
    for (const Edit::Insertion& one : result.edit.insertions) {
      frees += one.op.kind == OpKind::kFree;
    }
    EXPECT_EQ(frees, 1u) << uses;
  }
}

}  // namespace
}  // namespace ss
