// Whether a lifetime has struck, byte by byte. A litmus file can ask for a strike, not for none.
#include "tests/engine/from_litmus.h"

namespace ss {
namespace {

constexpr char kBlock[] =
    "host worker\n"
    "stream owner\n"
    "stream user\n"
    "stream late\n"
    "reserve S 8K\n"
    "map S[0K:8K] M\n"
    "alloc A 8K on owner at S[0K:8K]\n";

// Of the only finding.
bool Strikes(const std::string& text, const std::string& begin = kBlock) {
  std::vector<Finding> findings = FindingsOf(FromLitmus(begin + text));
  EXPECT_EQ(findings.size(), 1u) << text;
  if (findings.empty()) return false;
  EXPECT_EQ(findings[0].code, "lifetime") << text;
  EXPECT_EQ(findings[0].struck, findings[0].reuse.op != 0) << text;
  return findings[0].struck;
}

TEST(Struck, BytesThatTheUseTouched) {
  const std::string use = "user: kernel k read A[4K:8K]\nfree A\n";
  EXPECT_TRUE(Strikes(use + "alloc B 4K on late at S[4K:8K]\n"));
  EXPECT_FALSE(Strikes(use + "alloc B 4K on late at S[0K:4K]\n"));
}

TEST(Struck, RowsOfTheUseAndNotWhatIsBetweenThem) {
  const std::string use = "user: kernel k read A[0:1K pitch 4K rows 2]\nfree A\n";
  EXPECT_TRUE(Strikes(use + "alloc B 4K on late at S[4K:8K]\n"));
  EXPECT_FALSE(Strikes(use + "alloc B 2K on late at S[2K:4K]\n"));
  EXPECT_TRUE(Strikes(use + "alloc other 2K on owner\nalloc B 2K on user at S[4K:6K]\nfree B\n" +
                      "alloc C 4K on late at S[2K:6K]\n"));
}

// Those of all its accesses, and not what is between them.
TEST(Struck, BytesOfSeveralAccessesOfOneUse) {
  const std::string use = "user: kernel k read A[0K:1K] read A[7K:8K]\nfree A\n";
  EXPECT_TRUE(Strikes(use + "alloc B 1K on late at S[0K:1K]\n"));
  EXPECT_TRUE(Strikes(use + "alloc B 1K on late at S[7K:8K]\n"));
  EXPECT_FALSE(Strikes(use + "alloc B 4K on late at S[2K:6K]\n"));
}

TEST(Struck, BytesOfAUseThatTheReportedOneStandsFor) {
  const std::string uses =
      "user: kernel one read A[4K:8K]\n"
      "user: kernel two read A[0K:4K]\n"
      "free A\n";
  EXPECT_TRUE(Strikes(uses + "alloc B 4K on late at S[4K:8K]\n"));
  EXPECT_FALSE(Strikes(uses + "alloc other 4K on owner\nalloc B 4K on user at S[4K:8K]\n"));
}

TEST(Struck, ByAUseStrikesTheFindingThatStandsForIt) {
  const std::string uses =
      "user: kernel one read A[4K:8K]\n"
      "user: kernel two read A[0K:4K]\n"
      "late: kernel last read A[0K:4K]\n"
      "free A\nalloc B 4K on owner at S[4K:8K]\n";
  std::vector<Finding> findings = FindingsOf(FromLitmus(kBlock + uses));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].first.name, "last");
  EXPECT_FALSE(findings[0].struck);
  EXPECT_EQ(findings[1].first.name, "two");
  EXPECT_TRUE(findings[1].struck);
}

// Once the owner's read waits for the first kernel, so does who gets the bytes: that is the race.
TEST(Struck, NotByAUseThatARaceStandsFor) {
  const std::string uses =
      "user: kernel one write A[0K:4K]\n"
      "owner: kernel racing read A[0K:4K]\n"
      "user: kernel two read A[4K:8K]\n"
      "free A\nalloc B 4K on owner at S[0K:4K]\n";
  std::vector<Finding> findings = FindingsOf(FromLitmus(kBlock + uses));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].code, "lifetime");
  EXPECT_FALSE(findings[1].struck);
}

constexpr char kReported[] = "user: kernel k read A\nfree A\nalloc other 4K on owner\n";

TEST(Struck, ByWayOfOthersThatWait) {
  const std::string first = std::string(kReported) + "alloc B 8K on user at S[0K:8K]\n";
  EXPECT_FALSE(Strikes(first + "free B\n"));
  EXPECT_TRUE(Strikes(first + "free B\nalloc C 8K on late at S[0K:8K]\n"));
  EXPECT_FALSE(Strikes(first + "free B\nalloc C 8K on user at S[0K:8K]\n"));
}

// Nobody who gets the bytes after that meets the use.
TEST(Struck, NotOnceTheUseIsSeenToBeOver) {
  const std::string first = std::string(kReported) + "alloc B 4K on user at S[4K:8K]\n";
  const std::string last = "@worker alloc C 4K on late at S[4K:8K]\n";
  EXPECT_TRUE(Strikes(first + "free B\nsync user\n" + last));
  EXPECT_FALSE(Strikes(first + "sync user\nfree B\n" + last));
  const std::string recorded = first + "record_stream B late\n";
  EXPECT_TRUE(Strikes(recorded + "free B\nsync user\n" + last));
  EXPECT_FALSE(Strikes(recorded + "sync user\nfree B\n" + last));
}

// Seen by the thread that allocates: there the free of another one adds nothing.
TEST(Struck, NotBehindAnAllocationThatKnewTheUseToBeOver) {
  const std::string strict = std::string("mode strict\n") + kBlock;
  const std::string seen = std::string(kReported) + "sync user\nalloc B 8K on user at S[0K:8K]\n";
  const std::string unseen = std::string(kReported) + "alloc B 8K on user at S[0K:8K]\n";
  const std::string last = "@worker free B\n@worker alloc C 8K on late at S[0K:8K]\n";
  EXPECT_FALSE(Strikes(seen + last, strict));
  EXPECT_TRUE(Strikes(unseen + last, strict));
}

TEST(Struck, ARestThatNobodyGotStaysOpen) {
  const std::string first =
      std::string(kReported) + "alloc B 4K on user at S[4K:8K]\nsync user\nfree B\n";
  EXPECT_FALSE(Strikes(first + "@worker alloc C 4K on late at S[4K:8K]\n"));
  EXPECT_TRUE(Strikes(first + "@worker alloc C 8K on late at S[0K:8K]\n"));
}

TEST(Struck, OtherMemoryIsAtTheSameAddress) {
  EXPECT_FALSE(Strikes(std::string(kReported) +
                       "unmap S[0K:8K]\nmap S[0K:8K] N\nalloc B 8K on late at S[0K:8K]\n"));
}

// It says no more than its own bytes.
TEST(Struck, ByAnEarlierUseOfTheLaneThatWasReported) {
  const std::string late = "free A\nuser: kernel one read A[0K:4K]\n";
  const std::string next = "alloc B 2K on owner at S[1K:3K]\n";
  EXPECT_TRUE(Strikes(late + "user: kernel two read A[4K:8K]\n" + next));
  EXPECT_TRUE(Strikes(late + "user: kernel two read A[0:1K pitch 3K rows 2]\n" + next));
}

TEST(Struck, ByALaterUseOfTheLaneThatWasReported) {
  const std::string late = "free A\nuser: kernel one read A[0K:4K]\nowner: wait_stream user\n";
  const std::string next = "alloc B 4K on owner at S[4K:8K]\n";
  EXPECT_FALSE(Strikes(late + next));
  EXPECT_TRUE(Strikes(late + "user: kernel two read A[4K:8K]\n" + next));
  EXPECT_FALSE(Strikes(late + "user: kernel two read A[0K:4K]\n" + next));
}

// A pool hands out in stream order: who comes behind one that waited comes behind the use.
TEST(Struck, NotBehindAPoolsTenantThatWaited) {
  const std::string begin =
      "stream owner\nstream user\nstream late\n"
      "malloc_async A 8K on owner\n"
      "user: wait_stream owner\n"
      "user: kernel k read A\n"
      "free_async A on owner\n";
  const std::string last = "malloc_async C 8K on late reuse B\n";
  EXPECT_TRUE(Strikes("malloc_async B 8K on late reuse A\n", begin));
  EXPECT_FALSE(Strikes("malloc_async B 8K on user reuse A\n", begin));
  EXPECT_FALSE(Strikes("malloc_async B 8K on user reuse A\nfree_async B on user\n" + last, begin));
}

}  // namespace
}  // namespace ss
