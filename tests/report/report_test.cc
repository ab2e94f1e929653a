// The printers and the selection against hand-made reports. Real reports are held against samples
// in tests/cli.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "src/report/coverage.h"
#include "src/report/ids.h"
#include "src/report/print.h"
#include "src/report/timeline.h"
#include "src/report/words.h"
#include "tests/report/sample.h"

namespace ss {
namespace {

using Json = nlohmann::json;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// STREAMSAN_UPDATE_GOLDEN=1 writes the sample instead: read the diff before you commit it.
void ExpectGolden(const std::string& name, const std::string& text) {
  std::string path = std::string(SS_SOURCE_DIR) + "/tests/report/golden/" + name;
  if (std::getenv("STREAMSAN_UPDATE_GOLDEN")) std::ofstream(path) << text;
  EXPECT_EQ(ReadFile(path), text) << path;
}

struct Printed {
  explicit Printed(Report made, SelectOptions options = {})
      : report(std::move(made)), selection(Select(report, std::move(options), symbols)) {}
  std::string Text(PrintOptions options = {}) {
    return PrintText({report, selection, symbols}, options);
  }
  Json AsJson() { return Json::parse(PrintJson({report, selection, symbols})); }

  Report report;
  Symboliser symbols;
  Selection selection;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Text, SampleIsAsCommitted) { ExpectGolden("sample.txt", Printed(SampleReport()).Text()); }

TEST(Json, SampleIsAsCommitted) {
  Printed printed(SampleReport());
  std::string text = PrintJson({printed.report, printed.selection, printed.symbols});
  std::string version = Json::parse(text)["streamsan"]["version"];
  text.replace(text.find(version), version.size(), "VERSION");
  ExpectGolden("sample.json", text);
}

TEST(Text, FixThatWasNotVerifiedIsNotOffered) {
  Report report = SampleReport();
  for (Fix& fix : report.findings[0].fixes) fix.verified = false;
  std::string text = Printed(report).Text();
  EXPECT_FALSE(Has(text, "record_stream(X, compute)  "));
  EXPECT_TRUE(Has(text, "none that passed verification"));
}

TEST(Json, FixThatWasNotVerifiedIsNotOffered) {
  Json hazards = Printed(SampleReport()).AsJson()["hazards"];
  EXPECT_EQ(hazards[0]["fixes"].size(), 1u);
  EXPECT_EQ(hazards[0]["fix"]["kind"], "record_stream");
  EXPECT_TRUE(hazards[1]["fix"].is_null());
}

TEST(Text, IncompleteCoverageNeverClaimsZeroHazards) {
  Report report;
  report.coverage.complete = false;
  report.coverage.dropped = 7;
  std::string text = Printed(report).Text();
  EXPECT_FALSE(Has(text, "0 hazards"));
  EXPECT_TRUE(Has(text, "INCOMPLETE"));
  EXPECT_TRUE(Has(text, "7 records were dropped"));
  report.coverage = {};
  EXPECT_TRUE(Has(Printed(report).Text(), "0 hazards"));
}

TEST(Text, ColourOnlyOnRequest) {
  EXPECT_FALSE(Has(Printed(SampleReport()).Text(), "\x1b["));
  EXPECT_TRUE(Has(Printed(SampleReport()).Text({.colour = true}), "\x1b[1;31m"));
}

TEST(Text, PrintLimitCutsAndCounts) {
  std::string text = Printed(SampleReport()).Text({.print_limit = 1});
  EXPECT_TRUE(Has(text, "H1"));
  EXPECT_FALSE(Has(text, "H2"));
  EXPECT_TRUE(Has(text, "2 hazards, 1 advice"));
  EXPECT_TRUE(Has(text, "1 hazard not printed"));
}

// The line to change is mostly that of a wait which is there, and neither access has it.
TEST(Text, TheCauseSaysWhereItsCallsAre) {
  Report report = SampleReport();
  Site wait = MakeSite(4173, OpKind::kStreamWaitEvent, "e1", "comm", "");
  wait.stack = 3;
  Site use = report.findings[0].first;
  use.stack = 4;  // an access: its place stands in its own row
  Site litmus = MakeSite(4172, OpKind::kEventRecord, "e1", "compute", "");
  report.findings[0].evidence_sites = {wait, use, litmus, wait};
  Symboliser symbols;
  symbols.AddStack(3, {{"Combine", "/a/moe.cc", 210, "/bin/app", 1}}, {});
  symbols.AddStack(4, {{"Unpermute", "/a/moe.cc", 99, "/bin/app", 7}}, {});
  const Selection selection = Select(report, {}, symbols);
  const std::string text = PrintText({report, selection, symbols}, {});
  EXPECT_TRUE(Has(text, "[op 4173: moe.cc:210]")) << text;
  EXPECT_FALSE(Has(text, "moe.cc:99]")) << text;
}

std::vector<std::string> Ids(const Report& report) {
  Symboliser symbols;
  symbols.AddStack(3, {{"Forward", "/a/model.cc", 12, "/bin/app", 1}}, {});
  symbols.AddStack(4, {{"Forward", "/b/model.cc", 19, "/bin/app", 7}}, {});  // another build
  symbols.AddStack(5, {{"Backward", "/a/model.cc", 12, "/bin/app", 1}}, {});
  return IdsOf(report, symbols);
}

TEST(Ids, WhatARunNumbersIsNotInThem) {
  Report report = SampleReport();
  report.findings[0].buffer.name = "alloc#7";
  report.findings[0].first.stack = 3;
  report.findings[1].first.lane = "stream#2";
  const std::vector<std::string> before = Ids(report);
  report.findings[0].buffer.name = "alloc#12";
  report.findings[0].buffer.id = 99;
  report.findings[0].first.op = 1;
  report.findings[0].first.stack = 4;
  report.findings[0].first.lane = "elsewhere";  // the stack tells the place
  report.findings[1].first.line += 1;
  report.findings[1].first.lane = "stream#5";
  EXPECT_EQ(Ids(report), before);
}

TEST(Ids, CodeBufferNamesAndFunctionsAreInThem) {
  auto id = [](auto change) {
    Report report;
    report.findings = {RaceFinding("race-raw")};
    report.findings[0].first.stack = 3;
    change(report.findings[0]);
    return Ids(report)[0];
  };
  const std::set<std::string> ids = {id([](Finding&) {}),
                                     id([](Finding& f) { f.code = "race-war"; }),
                                     id([](Finding& f) { f.buffer.name = "B"; }),
                                     id([](Finding& f) { f.first.name = "other"; }),
                                     id([](Finding& f) { f.first.stack = 5; }),
                                     id([](Finding& f) { f.second.lane = "main"; }),
                                     id([](Finding& f) { f.buffer.alloc_stack = 5; })};
  EXPECT_EQ(ids.size(), 7u);
}

TEST(Ids, AlikeOnesAreNumberedWithinOneInput) {
  Report report;
  report.findings.assign(3, RaceFinding("race-raw"));
  report.findings[1].first.line = 99;
  report.findings[2].source = "another rank's trace";
  const std::vector<std::string> ids = Ids(report);
  EXPECT_EQ(ids[1], ids[0] + "-2");
  EXPECT_EQ(ids[2], ids[0]);
}

TEST(Select, ConfidenceBelowTheThresholdIsCountedNotShown) {
  Printed printed(SampleReport(), {.min_confidence = Confidence::kCertain});
  EXPECT_EQ(printed.selection.hazards.size(), 1u);
  EXPECT_EQ(printed.selection.below_confidence, 1u);
}

TEST(Select, HandoverAloneIsPossible) {
  Report report = SampleReport();
  report.findings[0].handover_only = true;
  EXPECT_EQ(Printed(report).selection.hazards.size(), 1u);
  Printed all(report, {.min_confidence = Confidence::kPossible});
  ASSERT_EQ(all.selection.hazards.size(), 2u);
  EXPECT_EQ(all.AsJson()["hazards"][0]["confidence"], "possible");
}

TEST(Select, AbsorbedIsNeverShown) {
  Report report = SampleReport();
  report.findings[0].absorbed = true;
  Printed printed(report);
  EXPECT_EQ(printed.selection.hazards.size(), 1u);
  EXPECT_EQ(printed.selection.below_confidence, 0u);
}

size_t LeftBy(const std::string& line) {
  auto lines = ParseSuppressions(line, "s");
  return Printed(SampleReport(), {.suppressions = *lines}).selection.hazards.size();
}

TEST(Suppressions, FitBufferKernelLaneAndFrame) {
  EXPECT_EQ(LeftBy("lifetime:X"), 1u);
  EXPECT_EQ(LeftBy("lifetime:unpermute*"), 1u);
  EXPECT_EQ(LeftBy("race-*:reduce"), 1u);
  EXPECT_EQ(LeftBy("*:*"), 0u);
  EXPECT_EQ(LeftBy("lifetime:G"), 2u);
  EXPECT_EQ(LeftBy("race-war:G"), 2u);
}

TEST(Suppressions, UnusedOnesAreListed) {
  auto lines = ParseSuppressions("# why\nlifetime:X  # here\n\nrace-war:nothing\n", "my.supp");
  ASSERT_TRUE(lines);
  Printed printed(SampleReport(), {.suppressions = *lines});
  EXPECT_TRUE(Has(printed.Text(), "unused suppression my.supp:4: race-war:nothing"));
  EXPECT_FALSE(Has(printed.Text(), "my.supp:2"));
  EXPECT_EQ(printed.AsJson()["hidden"]["suppressed"], 1);
}

TEST(Suppressions, BadLineIsLocated) {
  for (const char* bad : {"ok:x\nlifetime", "ok:x\n:x", "ok:x\nlifetime:"}) {
    auto lines = ParseSuppressions(bad, "my.supp");
    ASSERT_FALSE(lines) << bad;
    EXPECT_EQ(lines.error().place, "my.supp:2");
  }
}

TEST(Suppressions, AdviceToo) {
  auto lines = ParseSuppressions("record-stream-noop:X", "s");
  Printed printed(SampleReport(), {.suppressions = *lines});
  EXPECT_TRUE(printed.selection.advice.empty());
  EXPECT_EQ(printed.selection.suppressed_advice, 1u);
}

TEST(Timeline, FitsItsWidthAndKeepsTheFinding) {
  Finding finding = LifetimeFinding();
  for (OpId op = 3000; op < 3200; ++op) {
    finding.timeline.push_back(MakeSite(op, OpKind::kKernel, "k", "comm", "write"));
  }
  std::vector<std::string> rows = DrawTimeline(finding, 96);
  ASSERT_EQ(rows.size(), 3u);
  for (const std::string& row : rows) EXPECT_LE(row.size(), 96u);
  EXPECT_TRUE(Has(rows[0], "[4182 reads X]"));
  EXPECT_TRUE(Has(rows[2], " ? --[4190 fill X]"));
}

TEST(Timeline, TheMarkIsBeforeTheLaterOperation) {
  Finding finding = LifetimeFinding();
  finding.reuse = {};
  std::swap(finding.first.op, finding.second.op);  // used after it was freed
  EXPECT_TRUE(Has(DrawTimeline(finding, 96)[0], " ? --[4185 reads X]"));
}

TEST(Timeline, EqualNamesOfTwoRanksAreTwoLanes) {
  Finding finding = RaceFinding("race-raw");
  finding.second.lane = finding.first.lane;
  finding.second.rank = 1;
  EXPECT_EQ(DrawTimeline(finding, 96).size(), 2u);
  finding.code = "collective-order";
  EXPECT_TRUE(DrawTimeline(finding, 96).empty());
}

TEST(Words, SizesAndRanges) {
  EXPECT_EQ(BytesText(8 << 20), "8.0 MiB");
  EXPECT_EQ(BytesText(512), "512 B");
  EXPECT_EQ(RangeText(0, 8 << 20), "[0:8M]");
  EXPECT_EQ(RangeText(1, 4096), "[1:4K]");
}

TEST(Words, FunctionNamesAreShort) {
  EXPECT_EQ(FunctionText("ss::(anonymous namespace)::Run(int const&)"), "ss::Run");
  EXPECT_EQ(FunctionText("main"), "main");
  std::string words(80, 'x');
  EXPECT_EQ(FunctionText("void launch<" + words + ">(int)"), "void launch<...>");
}

TEST(Words, EveryHazardCodeHasItsSentence) {
  std::string other = WrongText(RaceFinding("no-such-code"), "B");
  for (const char* code : {"race-raw", "race-war", "race-waw", "lifetime", "fill-race", "host-race",
                           "collective-order", "collective-mismatch"}) {
    EXPECT_NE(WrongText(RaceFinding(code), "B"), other) << code;
  }
}

TEST(Coverage, PercentIsHundredOnlyWhenAllWasSeen) {
  Coverage coverage;
  EXPECT_EQ(CoveragePercent(coverage), 100);
  coverage.calls = 100000;
  coverage.calls_modelled = 99999;
  EXPECT_EQ(CoveragePercent(coverage), 99);
  coverage.calls_modelled = 100000;
  coverage.complete = false;
  EXPECT_EQ(CoveragePercent(coverage), 99);
}

TEST(Json, NamesMayBeAnyBytes) {
  Report report = SampleReport();
  report.findings[0].buffer.name = "\xff\x00z";
  EXPECT_TRUE(Printed(report).AsJson()["hazards"][0]["buffer"]["name"].is_string());
}

}  // namespace
}  // namespace ss
