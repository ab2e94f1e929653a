// The sentences that say why.
#include <algorithm>
#include <set>

#include "tests/engine/from_litmus.h"

namespace ss {
namespace {

// Many waits for one wrong stream are one reason.
TEST(Cause, SaysNothingTwice) {
  std::string text =
      "stream a\nstream b\nstream c\nalloc X 4K device\nalloc Y 4K device\n"
      "a: kernel k write X\n";
  for (int i = 0; i < 5; ++i) {
    std::string event = "E" + std::to_string(i);
    text += "c: kernel other write Y\nc: record " + event + "\nb: wait " + event + "\n";
  }
  text += "b: kernel l read X\n";
  std::vector<Finding> findings = FindingsOf(FromLitmus(text));
  ASSERT_EQ(findings.size(), 1u);
  std::set<std::string> reasons;
  for (std::string line : findings[0].evidence) {
    for (char& c : line) c = std::isdigit(static_cast<unsigned char>(c)) ? '#' : c;
    EXPECT_TRUE(reasons.insert(line).second) << line;
  }
  EXPECT_FALSE(reasons.empty());
}

// Streams of one name on two ranks: the timeline must not show one's wait as the other's.
TEST(Cause, TimelineTellsRanksApart) {
  std::vector<Finding> findings = FindingsOf(
      FromLitmus("rank 0\nstream s\nalloc X 4K device\ns: record EARLY\ns: kernel k write X\n"
                 "rank 1\nstream s\ns: wait EARLY@0\ns: kernel l read X@0\n"));
  ASSERT_EQ(findings.size(), 1u);
  size_t waits = 0;
  for (const Site& site : findings[0].timeline) {
    if (site.kind != OpKind::kStreamWaitEvent) continue;
    ++waits;
    EXPECT_EQ(site.rank, 1u);
  }
  EXPECT_EQ(waits, 1u);
}

// A wait of the consumer's context is one of its own, a record over the producer's one behind it.
TEST(Cause, NamesTheWaitsOfContexts) {
  std::vector<Finding> findings = FindingsOf(
      FromLitmus("context P\ncontext G green\nstream a\nstream g context G\nalloc X 4K device\n"
                 "P: record E\nG: wait E\na: kernel k write X\ng: kernel l read X\n"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].root_cause,
            "g last waited for a at op 8 (recorded at op 7), before op 9 was queued");
  const auto waits = [](const Site& site) { return site.kind == OpKind::kStreamWaitEvent; };
  EXPECT_EQ(std::count_if(findings[0].timeline.begin(), findings[0].timeline.end(), waits), 1);
}

// Who wrote what is in a block, and who got it, with the bytes of it that they touch.
TEST(Cause, ProducerAndReuseHaveTheirBytes) {
  std::vector<Finding> findings = FindingsOf(
      FromLitmus("stream s\nstream t\nalloc A 16K on s\ns: kernel make write A[4K:8K]\n"
                 "t: wait_stream s\nt: kernel use read A\nfree A\nalloc B 8K on s reuse A\n"
                 "s: kernel next write B[1K:6K]\n"));
  ASSERT_EQ(findings.size(), 1u);
  const Site &producer = findings[0].producer, &reuse = findings[0].reuse;
  EXPECT_EQ(producer.name, "make");
  EXPECT_EQ(producer.begin, 4096u);
  EXPECT_EQ(producer.end, 8192u);
  EXPECT_EQ(producer.extent, Evidence::kExact);
  EXPECT_EQ(reuse.name, "next");
  EXPECT_EQ(reuse.begin, 1024u);
  EXPECT_EQ(reuse.end, 6144u);
}

}  // namespace
}  // namespace ss
