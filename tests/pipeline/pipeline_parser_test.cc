// What is refused, where, and with which words; what the parser makes of the rest.
#include <gtest/gtest.h>

#include "src/pipeline/protocol.h"

namespace ss::pipeline {
namespace {

constexpr char kHead[] = "pipeline p stages 2 producers A consumers B\nmbar m arrivals 2\n";

std::string Refusal(const std::string& text) {
  Result<Protocol> protocol = ParseProtocol(text, "f.pipe");
  return protocol ? "accepted" : protocol.error().Text();
}

void ExpectRefused(const std::string& text, const std::string& place, const std::string& words) {
  const std::string refusal = Refusal(text);
  EXPECT_EQ(refusal.rfind("f.pipe:" + place + ": ", 0), 0u) << refusal;
  EXPECT_NE(refusal.find(words), std::string::npos) << refusal;
}

TEST(Parser, RefusesAtThePlace) {
  ExpectRefused("stream s", "1:1", "found 'stream', expected 'title', 'pipeline'");
  ExpectRefused("pipeline p stages 0 producers A consumers B", "1:19", "1 to 64");
  ExpectRefused("pipeline p stages 65 producers A consumers B", "1:19", "1 to 64");
  ExpectRefused("pipeline p stages 1 producers A A consumers B", "1:33", "each role once");
  ExpectRefused("pipeline p stages 1 producers A", "1:32", "'consumers'");
  ExpectRefused("pipeline p stages 1 producers A arrivals 0 consumers B", "1:42", "arrivals");
  ExpectRefused("role A { write q }", "1:16", "a declared pipeline");
  ExpectRefused("role A { await q 0 }", "1:16", "a declared mbarrier");
  ExpectRefused("role A { jump p }", "1:10", "an operation, 'for' or '}'");
  ExpectRefused("role A {\n  delay\n", "3:1", "'}'");
  ExpectRefused("role A { delay } delay", "1:18", "';' or the end of the line");
  ExpectRefused("role A { delay delay }", "1:16", "';' or the end of the line");
  ExpectRefused("role A { delay }\nrole A { delay }", "2:6", "a new role");
  ExpectRefused("role A warps 65 { }", "1:14", "1 to 64");
  ExpectRefused("role A warps 40 { }\nrole B warps 40 { }", "2:6", "at most 64 warps");
  ExpectRefused("title \"open", "1:7", "a closing '\"'");
}

TEST(Parser, RefusesWhatOnlyTheWholeFileShows) {
  ExpectRefused("pipeline p stages 1 producers A consumers B\nrole A { }", "1:43",
                "a role of this file");
  ExpectRefused(std::string(kHead) + "role A { }\nrole B { }\nexpect pipeline-race p A C", "5:26",
                "a role of this file");
  ExpectRefused(std::string(kHead) + "role A { }\nrole B { }\nexpect pipeline-owner m A", "5:23",
                "a declared pipeline");
}

TEST(Parser, RefusesBarriersThatCannotBe) {
  const std::string head = kHead;
  ExpectRefused(head + "mbar p arrivals 1", "3:6", "a new name");
  ExpectRefused(head + "role A { arrive m 3 }", "3:19", "a count, 1 to 2");
  ExpectRefused(head + "role A { await m 2 }", "3:18", "a parity, 0 to 1");
  ExpectRefused(head + "role A { sync 16 2 }", "3:15", "0 to 15");
  ExpectRefused(head + "role A { sync m 2 }", "3:15", "a named barrier");
  ExpectRefused(head + "role A { sync x 2; sync x 3 }", "3:27",
                "2, as at this barrier's first use");
}

TEST(Parser, RefusesContradictions) {
  const std::string head = "role A { delay }\n";
  ExpectRefused(head + "expect none\nexpect pipeline-deadlock A", "3:8", "beside 'expect none'");
  ExpectRefused(head + "expect pipeline-deadlock A\nexpect none", "3:8", "beside a hazard");
  ExpectRefused(head + "expect race-raw A", "2:8", "pipeline-owner");
}

// Neither time nor memory may follow the number that the file names.
TEST(Parser, RefusesWhatIsTooLarge) {
  const std::string head = kHead;
  ExpectRefused(head + "role A { for 1000000000 { commit p } }", "3:14", "at most 200000 steps");
  ExpectRefused(head + "role A { for 400000 { for 400000 { delay } } }", "3:27", "at most 200000");
  ExpectRefused(head + "role A warps 64 { for 4000 { commit p } }", "3:23", "at most 200000");
  std::string many;
  for (int i = 0; i < 9; ++i)
    many += "pipeline p" + std::to_string(i) + " stages 64 producers A consumers B\n";
  ExpectRefused(many, "9:10", "at most 1024 barriers");
  std::string deep = "role A { ";
  for (int i = 0; i < 100; ++i) deep += "for 1 { ";
  ExpectRefused(deep, "1:270", "nested loops");
  EXPECT_EQ(Refusal("role A { for 1000000000 { } }"), "accepted");
}

TEST(Parser, UnrollsLoopsAndCountsAgents) {
  Result<Protocol> protocol = ParseProtocol(
      "pipeline p stages 2 producers A consumers B C arrivals 5\n"
      "role A warps 3 { for 2 { for 3 { acquire p }; commit p }\n tail p }\nrole B { }; role C { }",
      "f.pipe");
  ASSERT_TRUE(protocol) << protocol.error().Text();
  EXPECT_EQ(protocol->roles[0].ops.size(), 9u);
  EXPECT_EQ(protocol->pipes[0].producers.arrivals, 3u);
  EXPECT_EQ(protocol->pipes[0].consumers.arrivals, 5u);
  EXPECT_EQ(protocol->roles[0].ops[8].line, 3u);
}

TEST(Parser, ArriveIsOfTheBarrierThatTheNameIs) {
  Result<Protocol> protocol =
      ParseProtocol("mbar m arrivals 2\nrole A { arrive m 2; arrive n 3; arrive 07 3 }", "f.pipe");
  ASSERT_TRUE(protocol) << protocol.error().Text();
  EXPECT_EQ(protocol->roles[0].ops[0].kind, OpKind::kArrive);
  EXPECT_EQ(protocol->roles[0].ops[1].kind, OpKind::kBarArrive);
  EXPECT_EQ(protocol->bars[1].name, "7");
}

}  // namespace
}  // namespace ss::pipeline
