// The matcher against hand-made reports: each way to pass, and each way to fail with its message.
#include <gtest/gtest.h>

#include "src/litmus/litmus.h"

namespace ss {
namespace {

constexpr const char* kDeclarations =
    "stream s\nstream t\nhost w\nalloc X 4K on s\nalloc Y 4K on s\ns: write X as w1\nt: read X as "
    "r1\n"
    "capture G on s\nend\n";  // expect lines begin at line 10

Site StreamSite(const std::string& lane, const std::string& label, uint32_t line) {
  Site site;
  site.op = line;
  site.name = "kernel_of_" + lane;
  site.label = label;
  site.lane = lane;
  site.host = "main";
  site.stream = 1;
  site.line = line;
  return site;
}

Site HostSite(const std::string& host, uint32_t line) {
  Site site = StreamSite(host, "", line);
  site.host = host;
  site.stream = 0;
  return site;
}

Finding Race() {
  Finding finding;
  finding.code = "race-raw";
  finding.buffer.name = "X";
  finding.buffer.aliases = {"Older"};
  finding.first = StreamSite("s", "w1", 6);
  finding.second = StreamSite("t", "r1", 7);
  return finding;
}

Finding Lifetime(bool struck) {
  Finding finding = Race();
  finding.code = "lifetime";
  finding.first = StreamSite("t", "r1", 7);
  finding.second = HostSite("main", 8);
  finding.struck = struck;
  return finding;
}

Fix WaitFix(bool verified) {
  Fix fix;
  fix.kind = FixKind::kWait;
  fix.consumer = "t";
  fix.producer = "s";
  fix.verified = verified;
  return fix;
}

Report With(std::vector<Finding> findings, std::vector<Advice> advice = {}) {
  Report report;
  report.findings = std::move(findings);
  report.advice = std::move(advice);
  return report;
}

// The messages for `lines`, joined; "" = the file passes.
std::string Match(const std::string& lines, const Report& report) {
  Result<LitmusFile> file = ParseLitmus(kDeclarations + lines, "f.litmus");
  if (!file) return file.error().Text();
  std::string text;
  for (const std::string& message : MatchExpectations(file->expectations, report)) {
    text += (text.empty() ? "" : "\n") + message;
  }
  return text;
}

TEST(Match, LanesLabelsAndAliasesNameASite) {
  EXPECT_EQ(Match("expect race-raw X s t\n", With({Race()})), "");
  EXPECT_EQ(Match("expect race-raw X w1 r1\n", With({Race()})), "");
  EXPECT_EQ(Match("expect race-raw X w1 t\n", With({Race()})), "");
  Finding aliased = Race();
  aliased.second.lane = "other";
  aliased.second.label = "";
  aliased.second.lane_aliases = {"t"};
  aliased.buffer.name = "Newer";
  aliased.buffer.aliases = {"X"};
  EXPECT_EQ(Match("expect race-raw X s t\n", With({aliased})), "");
}

TEST(Match, GraphAndPerThreadLanesGoByTheirParts) {
  Finding finding = Race();
  finding.first.lane = "G/s";
  finding.second.lane = "t@w";
  finding.second.host = "w";
  EXPECT_EQ(Match("expect race-raw X s t\n", With({finding})), "");
  EXPECT_EQ(Match("expect race-raw X G t\n", With({finding})), "");
  EXPECT_NE(Match("expect race-raw X s w\n", With({finding})), "") << "the host only issued it";
}

TEST(Match, AHostThreadIsNamedForItsOwnAccessesOnly) {
  Finding finding = Race();
  finding.code = "host-race";
  finding.second = HostSite("w", 7);
  EXPECT_EQ(Match("expect host-race X s w\n", With({finding})), "");
  EXPECT_NE(Match("expect host-race X main w\n", With({finding})), "")
      << "main issued the kernel, s ran it";
}

TEST(Match, OrderCodeAndBufferCount) {
  EXPECT_EQ(Match("expect race-raw X t s\n", With({Race()})),
            "line 10: expected race-raw X t s; nearest is race-raw X w1 r1 (lines 6 and 7)\n"
            "no line expects race-raw X w1 r1 (lines 6 and 7)");
  EXPECT_EQ(Match("expect race-war X s t\n", With({Race()})),
            "line 10: expected race-war X s t; nearest is race-raw X w1 r1 (lines 6 and 7)\n"
            "no line expects race-raw X w1 r1 (lines 6 and 7)");
  EXPECT_EQ(Match("expect race-raw Y s t\n", With({Race()})),
            "line 10: expected race-raw Y s t; nearest is race-raw X w1 r1 (lines 6 and 7)\n"
            "no line expects race-raw X w1 r1 (lines 6 and 7)");
  EXPECT_EQ(Match("expect race-raw X s t\n", With({})),
            "line 10: expected race-raw X s t; found no hazard");
}

TEST(Match, TheNearestFindingIsTheOneOnTheBuffer) {
  Finding other = Race();
  other.buffer.name = "Y";
  other.buffer.aliases = {};
  std::string text =
      Match("expect race-war X s t\nexpect race-raw Y s t\n", With({other, Lifetime(false)}));
  EXPECT_NE(text.find("line 10: expected race-war X s t; nearest is lifetime X r1 (lines 7 and 8)"),
            std::string::npos)
      << text;
}

TEST(Match, AHazardThatNoLineExpectsFails) {
  EXPECT_EQ(Match("", With({Race()})), "no line expects race-raw X w1 r1 (lines 6 and 7)");
  EXPECT_EQ(Match("expect none\n", With({Race()})),
            "line 10: expected no hazard; found race-raw X w1 r1 (lines 6 and 7)");
  EXPECT_EQ(Match("expect advice none\n", With({Race()})),
            "no line expects race-raw X w1 r1 (lines 6 and 7)");
  EXPECT_EQ(Match("expect race-raw X s t\n", With({Race(), Lifetime(true)})),
            "no line expects lifetime X r1 struck (lines 7 and 8)");
}

TEST(Match, NoLinesAndNoHazardPass) {
  EXPECT_EQ(Match("", With({})), "");
  EXPECT_EQ(Match("expect none\n", With({})), "");
}

TEST(Match, AbsorbedFindingsMayBeNamedAndNeedNotBe) {
  Finding absorbed = Lifetime(false);
  absorbed.absorbed = true;
  EXPECT_EQ(Match("expect race-raw X s t\n", With({Race(), absorbed})), "");
  EXPECT_EQ(Match("expect race-raw X s t\nexpect lifetime X t\n", With({Race(), absorbed})), "");
}

TEST(Match, WhatADefaultReportHidesCountsForNothing) {
  for (bool handover : {false, true}) {
    Finding hidden = Race();
    hidden.handover_only = handover;
    if (!handover) hidden.confidence = Confidence::kPossible;
    EXPECT_EQ(Match("expect none\n", With({hidden})), "");
    EXPECT_EQ(Match("expect race-raw X s t\n", With({hidden})),
              "line 10: expected race-raw X s t; found no hazard");
  }
  Finding likely = Race();
  likely.confidence = Confidence::kLikely;
  EXPECT_EQ(Match("expect race-raw X s t\n", With({likely})), "");
}

TEST(Match, StruckMustHoldWhereItIsStated) {
  EXPECT_EQ(Match("expect lifetime X t\n", With({Lifetime(true)})), "");
  EXPECT_EQ(Match("expect lifetime X r1\n", With({Lifetime(false)})), "");
  EXPECT_EQ(Match("expect lifetime X t struck\n", With({Lifetime(true)})), "");
  EXPECT_EQ(
      Match("expect lifetime X t struck\n", With({Lifetime(false)})),
      "line 10: expected lifetime X t struck; the storage was not handed out again in this run");
}

TEST(Match, OnlyAVerifiedFixPasses) {
  Finding finding = Race();
  finding.fixes = {WaitFix(false)};
  EXPECT_EQ(Match("expect race-raw X s t fix wait t s\n", With({finding})),
            "line 10: expected race-raw X s t fix wait t s; race-raw X w1 r1 (lines 6 and 7) has "
            "wait t s "
            "(not verified)");
  finding.fixes = {};
  EXPECT_EQ(
      Match("expect race-raw X s t fix wait t s\n", With({finding})),
      "line 10: expected race-raw X s t fix wait t s; race-raw X w1 r1 (lines 6 and 7) has no fix");
  finding.fixes = {WaitFix(true)};
  EXPECT_EQ(Match("expect race-raw X s t fix wait t s\n", With({finding})), "");
  EXPECT_NE(Match("expect race-raw X s t fix wait s t\n", With({finding})), "");
}

TEST(Match, AnyOfSeveralFixesPasses) {
  Finding finding = Race();
  Fix sync;
  sync.kind = FixKind::kHostSync;
  sync.producer = "s";
  sync.verified = true;
  finding.fixes = {WaitFix(true), sync};
  EXPECT_EQ(Match("expect race-raw X s t fix host-sync s\n", With({finding})), "");
  EXPECT_EQ(Match("expect race-raw X s t fix wait t s\nexpect race-raw X s t fix host-sync s\n",
                  With({finding})),
            "");
  EXPECT_NE(Match("expect race-raw X s t fix host-sync t\n", With({finding})), "");
}

TEST(Match, EveryKindOfFixIsRead) {
  auto passes = [](FixKind kind, const std::string& line) {
    Finding finding = Race();
    Fix fix;
    fix.kind = kind;
    fix.buffer = "X";
    fix.consumer = kind == FixKind::kPdlWait ? "r1" : "t";
    fix.producer = "s";
    fix.verified = true;
    finding.fixes = {fix};
    return Match("expect race-raw X s t fix " + line + "\n", With({finding}));
  };
  EXPECT_EQ(passes(FixKind::kRecordStream, "record_stream X t"), "");
  EXPECT_NE(passes(FixKind::kRecordStream, "record_stream X s"), "");
  EXPECT_NE(passes(FixKind::kRecordStream, "record_stream Y t"), "");
  EXPECT_EQ(passes(FixKind::kReallocBeforeWait, "realloc-before-wait X"), "");
  EXPECT_NE(passes(FixKind::kReallocBeforeWait, "realloc-before-wait Y"), "");
  EXPECT_EQ(passes(FixKind::kPdlWait, "pdl-wait r1"), "");
  EXPECT_NE(passes(FixKind::kPdlWait, "pdl-wait w1"), "");
  EXPECT_EQ(passes(FixKind::kHandoff, "handoff s t"), "");
  EXPECT_NE(passes(FixKind::kHandoff, "handoff t s"), "");
  EXPECT_NE(passes(FixKind::kHandoff, "host-sync s"), "") << "another kind";
}

TEST(Match, IdenticalLinesNeedAsManyFindings) {
  std::string twice = "expect race-raw X s t\nexpect race-raw X s t\n";
  EXPECT_EQ(Match(twice, With({Race()})), "line 11: expected race-raw X s t; there is only 1");
  EXPECT_EQ(Match(twice, With({Race(), Race()})), "");
  EXPECT_EQ(Match("expect race-raw X s t\n", With({Race(), Race()})), "")
      << "one line, the same on two ranks";
}

TEST(Match, CollectivesGoByCommunicatorRankOrLabel) {
  Finding finding = Race();
  finding.code = "collective-order";
  finding.buffer.name = "C";
  finding.second.rank = 1;
  std::string ranks = "rank 0\nstream c\nc: collective C barrier\n";
  for (const char* sites : {"", " rank0 rank1", " rank1 rank0", " w1 r1", " s t"}) {
    EXPECT_EQ(Match(ranks + "expect collective-order C" + sites + "\n", With({finding})), "")
        << sites;
  }
  EXPECT_NE(Match(ranks + "expect collective-order C rank0 rank2\n", With({finding})), "");
  EXPECT_NE(Match(ranks + "expect collective-mismatch C\n", With({finding})), "");
}

TEST(Match, AdviceGoesByCodeAndSubject) {
  Advice advice;
  advice.code = "redundant-wait";
  advice.subject = "t";
  advice.aliases = {"s"};
  EXPECT_EQ(Match("expect advice redundant-wait\n", With({}, {advice})), "");
  EXPECT_EQ(Match("expect advice redundant-wait t\n", With({}, {advice})), "");
  EXPECT_EQ(Match("expect advice redundant-wait s\n", With({}, {advice})), "");
  EXPECT_EQ(Match("expect none\n", With({}, {advice})), "") << "advice may always come";
  EXPECT_EQ(Match("expect advice redundant-wait X\n", With({}, {advice})),
            "line 10: expected advice redundant-wait X; found redundant-wait t");
  EXPECT_EQ(Match("expect advice implicit-sync t\n", With({}, {})),
            "line 10: expected advice implicit-sync t; found no advice");
  EXPECT_EQ(Match("expect advice none\n", With({}, {advice})),
            "line 10: expected no advice; found redundant-wait t");
  EXPECT_EQ(Match("expect advice none\n", With({}, {})), "");
}

TEST(Match, WhatWasNotLookedAtIsNoAnswer) {
  Report report = With({});
  report.coverage.notes = {"one thing", "accesses of one place, too many to keep apart: 3"};
  EXPECT_EQ(Match("expect none\n", report), "");
  report.coverage.complete = false;
  EXPECT_EQ(Match("expect none\n", report),
            "the answer is incomplete: accesses of one place, too many to keep apart: 3");
}

}  // namespace
}  // namespace ss
