// Where every wait that would help keeps a wait for a value from ever ending: what to change is
// said of the operation that comes too early.
#include <gtest/gtest.h>

#include "src/explain/analyse.h"
#include "src/litmus/litmus.h"

namespace ss {
namespace {

// What the one hazard of the program has to say instead of a fix.
std::string Change(const std::string& lines) {
  auto file = ParseLitmus("stream owner\nstream user\n" + lines, "test.litmus");
  EXPECT_TRUE(file.has_value());
  if (!file) return "";
  const Report report = AnalyseProgram(file->program, {});
  EXPECT_EQ(report.findings.size(), 1u);
  if (report.findings.empty()) return "";
  EXPECT_TRUE(report.findings[0].fixes.empty());
  return report.findings[0].change;
}

TEST(ByAnotherValue, OfARaceItIsTheSecondOperation) {
  const std::string change = Change(
      "alloc A 4K device\n"
      "user: await F 1\nuser: read A\nowner: write A\nowner: signal F 1 no_barrier\n");
  EXPECT_TRUE(change.starts_with("say by another value when the second operation may begin: "))
      << change;
}

TEST(ByAnotherValue, OfAUseBeforeItsAllocationItIsTheUse) {
  const std::string change = Change(
      "owner: await F 1\nmalloc_async A 4K on owner\n"
      "user: read A\nuser: signal F 1\n");
  EXPECT_TRUE(change.starts_with(
      "say by another value when the use may begin, behind the block's allocation: "))
      << change;
}

TEST(ByAnotherValue, OfAFreeItIsTheFree) {
  const std::string change = Change(
      "malloc_async A 4K on owner\nuser: wait_stream owner\n"
      "user: await F 1\nuser: read A\nfree_async A on owner\nowner: signal F 1\n");
  EXPECT_TRUE(
      change.starts_with("say by another value when the block may be given back, behind its use: "))
      << change;
}

}  // namespace
}  // namespace ss
