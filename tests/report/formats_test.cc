// What the tool writes for people and programs beside text and JSON: pages, SARIF, Perfetto traces,
// `explain`, baselines and suppressions; from real inputs through the command line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/process.h"

namespace ss {
namespace {

using Json = nlohmann::json;

const std::string kTraces = SS_SOURCE_DIR "/tests/gpu_traces/h200/";
const std::string kRules = SS_SOURCE_DIR "/tests/litmus/rules/";
const std::string kIncident1 = kTraces + "i1_missing-compute-record.sst";
const std::string kIncident2 = kTraces + "i2_wrong-producer.sst";
const std::string kIncident3 = kTraces + "i3_alloc-after-wait.sst";
const std::string kLitmus = SS_SOURCE_DIR "/tests/litmus/corpus/SEED-XTUNER.litmus";
const std::string kProtocol = SS_SOURCE_DIR "/tests/litmus/pipe/gdn_like_stray_tail.pipe";

std::string Page(const std::string& input, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"check", "--format", "html"});
  options.push_back(input);
  return Tool(options).err;
}

Json DataOf(const std::string& page) {
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::string Answer(const std::string& page, const std::string& question) {
  const size_t at = page.find(">" + question + "</dt>");
  if (at == std::string::npos) return "";
  const size_t begin = page.find('>', page.find("<dd", at)) + 1;
  return page.substr(begin, page.find("</dd>", begin) - begin);
}

TEST(Page, NeedsNothingFromElsewhere) {
  for (const std::string& page : {Page(kIncident1), Page(kLitmus)}) {
    ASSERT_TRUE(Has(page, "<!DOCTYPE html>"));
    for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url(", "import("}) {
      EXPECT_FALSE(Has(page, outside)) << outside;
    }
  }
}

TEST(Page, AnswersTheFiveQuestionsOfIncident1) {
  const std::string page = Page(kIncident1);
  EXPECT_TRUE(Has(Answer(page, "Which buffer"), "combined"));
  EXPECT_TRUE(Has(Answer(page, "Who wrote it"), "exchange on comm"));
  EXPECT_TRUE(Has(Answer(page, "Who still uses it"), "unpermute_backward on compute"));
  EXPECT_TRUE(Has(Answer(page, "Who touches it too early"), "fill_nan on comm"));
  EXPECT_TRUE(Has(Answer(page, "Which edge is missing"), "unpermute_backward on compute"));
  EXPECT_TRUE(Has(Answer(page, "What to change"), "record_stream(combined, compute)"));
}

TEST(Page, AnswersTheFiveQuestionsOfIncidents2And3) {
  std::string page = Page(kIncident2);
  EXPECT_TRUE(Has(Answer(page, "Which buffer"), "gradient"));
  EXPECT_TRUE(Has(Answer(page, "Who wrote it"), "produce on backward"));
  EXPECT_TRUE(Has(Answer(page, "Who touches it too early"), "copy on reduce"));
  EXPECT_TRUE(Has(Answer(page, "What to change"), "reduce waits for backward"));
  page = Page(kIncident3);
  EXPECT_TRUE(Has(Answer(page, "Who wrote it"), "fill_nan on compute"));
  EXPECT_TRUE(Has(Answer(page, "Who touches it too early"), "exchange on comm"));
  EXPECT_TRUE(Has(Answer(page, "What to change"), "allocate combined before the wait"));
}

TEST(Page, AnswersForAPipelineWithAScheduleThatHangs) {
  const std::string page = Tool({"pipeline", "check", "--format", "html", kProtocol}).err;
  EXPECT_TRUE(Has(Answer(page, "Which pipeline"), "o_store"));
  EXPECT_TRUE(Has(Answer(page, "Who writes it"), "CG1"));
  EXPECT_TRUE(Has(Answer(page, "Who touches it without owning it"), "CG0 calls tail o_store"));
  EXPECT_TRUE(Has(Answer(page, "What to change"), "delete tail o_store from role CG0"));
  EXPECT_TRUE(Has(Answer(page, "What to change"), "verified for every schedule"));
  const Json data = DataOf(page);
  ASSERT_EQ(data["hazards"].size(), 2u);
  const Json& first = data["hazards"][0];
  const Json& picture = data["pictures"][first["picture"].get<size_t>()];
  ASSERT_FALSE(first["keys"].empty());
  const size_t stuck = first["keys"][0];
  EXPECT_EQ(picture["names"][picture["ops"]["name"][stuck].get<size_t>()], "tail o_store");
  EXPECT_EQ(picture["lanes"][picture["ops"]["lane"][stuck].get<size_t>()][0], "CG0");
}

// Arrows of a schedule: from the arrival that completes a phase to another role's wait for it.
TEST(Page, APipelinesEdgesLeadFromArrivalsToWaits) {
  const std::string page = Tool({"pipeline", "check", "--format", "html", kProtocol}).err;
  const Json data = DataOf(page);
  const Json& picture = data["pictures"][data["hazards"][0]["picture"].get<size_t>()];
  const Json &edges = picture["edges"], &ops = picture["ops"];
  ASSERT_GE(edges.size(), 4u);
  std::set<std::string> pairs;
  for (size_t i = 0; i < edges.size(); i += 2) {
    const size_t from = edges[i], to = edges[i + 1];
    EXPECT_LT(from, to);
    EXPECT_NE(ops["lane"][from], ops["lane"][to]);
    auto name = [&](size_t at) {
      return picture["names"][ops["name"][at].get<size_t>()].get<std::string>();
    };
    pairs.insert(name(from) + " -> " + name(to));
  }
  EXPECT_TRUE(pairs.count("commit o_store -> wait o_store"));
  EXPECT_TRUE(pairs.count("release o_store -> acquire o_store"));
  const size_t stuck = data["hazards"][0]["keys"][0];
  for (size_t i = 1; i < edges.size(); i += 2) EXPECT_NE(edges[i], stuck);
}

// A wait for an event that nobody recorded is marked, and no arrow leads to it.
TEST(Page, WaitsThatOrderNothingAreMarked) {
  const Json data = DataOf(Page(kIncident2));
  const Json& picture = data["pictures"][0];
  const Json& ops = picture["ops"];
  ASSERT_FALSE(ops["idle"].empty());
  std::set<size_t> idle;
  for (size_t position : ops["idle"]) {
    EXPECT_EQ(picture["names"][ops["name"][position].get<size_t>()], "wait, never recorded");
    idle.insert(position);
  }
  for (size_t i = 1; i < picture["edges"].size(); i += 2)
    EXPECT_FALSE(idle.count(picture["edges"][i])) << i;
  EXPECT_TRUE(Has(Page(kIncident2), "Dashed yellow"));
  EXPECT_FALSE(Has(Page(kIncident3), "Dashed yellow"));
}

// Every number in the data leads somewhere, and the missing edge joins the two that it should.
TEST(Page, DataIsWholeAndPointsAtTheRightOperations) {
  const Json data = DataOf(Page(kIncident1));
  ASSERT_EQ(data["pictures"].size(), 1u);
  const Json& picture = data["pictures"][0];
  const Json& ops = picture["ops"];
  const size_t count = ops["id"].size();
  ASSERT_GT(count, 100u);
  for (const char* column : {"lane", "kind", "name", "place", "touch"}) {
    EXPECT_EQ(ops[column].size(), count) << column;
  }
  for (size_t lane : ops["lane"]) EXPECT_LT(lane, picture["lanes"].size());
  for (size_t name : ops["name"]) EXPECT_LT(name, picture["names"].size());
  for (size_t end : picture["edges"]) EXPECT_LT(end, count);
  for (size_t i = 0; i < picture["edges"].size(); i += 2) {
    EXPECT_LT(picture["edges"][i], picture["edges"][i + 1]);
  }
  for (size_t i = 0; i < picture["touch"].size(); i += 4) {
    EXPECT_LT(picture["touch"][i], picture["lives"].size());
    EXPECT_LE(picture["touch"][i + 2], picture["touch"][i + 3]);
  }
  const Json& hazard = data["hazards"][0];
  auto name = [&](size_t position) {
    return picture["names"][ops["name"][position].get<size_t>()].get<std::string>();
  };
  EXPECT_EQ(name(hazard["edge"][0]), "unpermute_backward");
  EXPECT_EQ(name(hazard["edge"][1]), "fill_nan");
  std::set<std::string> focus;
  for (size_t position : hazard["focus"]) focus.insert(name(position));
  for (const char* part :
       {"alloc combined", "exchange", "free combined", "record_stream combined, comm"}) {
    EXPECT_TRUE(focus.count(part)) << part;
  }
  const Json& life = picture["lives"][hazard["life"].get<size_t>()];
  EXPECT_EQ(picture["names"][life[0].get<size_t>()], "combined");
  EXPECT_EQ(name(life[3]), "alloc combined");
  EXPECT_EQ(name(life[4]), "free combined");
}

std::set<std::string> LanesOf(const Json& picture) {
  std::set<std::string> lanes;
  for (const Json& lane : picture["lanes"]) lanes.insert(lane[0].get<std::string>());
  return lanes;
}

TEST(Page, AmongSeveralRanksEveryLaneHasItsRank) {
  const Json data = DataOf(Page(kRules + "r08_ipc_bad.litmus"));
  ASSERT_EQ(data["pictures"].size(), 1u);
  const std::set<std::string> lanes = LanesOf(data["pictures"][0]);
  EXPECT_TRUE(lanes.count("rank0 producer"));
  EXPECT_TRUE(lanes.count("rank1 consumer"));
  EXPECT_FALSE(lanes.count("producer"));
  const std::string text = Tool({"check", kRules + "r08_ipc_bad.litmus"}).err;
  EXPECT_TRUE(Has(text, "read by copy_out on rank1 consumer")) << text;
  EXPECT_TRUE(Has(text, "fill on rank0 producer")) << text;
}

// Two processes of one program that say no rank: each hazard is drawn where it was.
TEST(Page, OfSeveralProcessesEachHasAPictureOfItsOwn) {
  const std::string page = Tool({"check", "--format", "html", kIncident2, kIncident2}).err;
  const Json data = DataOf(page);
  ASSERT_EQ(data["pictures"].size(), 2u);
  EXPECT_TRUE(LanesOf(data["pictures"][0]).count("rank0 reduce"));
  EXPECT_TRUE(LanesOf(data["pictures"][1]).count("rank1 reduce"));
  std::set<size_t> drawn;
  for (const Json& hazard : data["hazards"]) drawn.insert(hazard["picture"].get<size_t>());
  EXPECT_EQ(drawn, (std::set<size_t>{0, 1}));
  const std::string text = Tool({"check", kIncident2, kIncident2}).err;
  EXPECT_TRUE(Has(text, "rank0 reduce")) << text;
  EXPECT_TRUE(Has(text, "rank1 reduce")) << text;
  EXPECT_TRUE(Has(text, "rank 0 is process ")) << text;
  EXPECT_TRUE(Has(text, "StreamSan: advice redundant-wait  rank1 default")) << text;
  EXPECT_FALSE(Has(text, "== StreamSan: race-raw")) << text;  // the number would be one's alone
}

TEST(Page, SaysWhatWasNotSeenAndNeverZeroOfAPart) {
  const std::filesystem::path copy = std::filesystem::temp_directory_path() / "ss_cut.sst";
  std::filesystem::copy_file(kTraces + "i1_fix_wait.sst", copy,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(copy, std::filesystem::file_size(copy) - 3);
  const std::string page = Page(copy.string());
  std::filesystem::remove(copy);
  EXPECT_FALSE(Has(page, "0 hazards in")) << page.substr(0, 2000);
  EXPECT_TRUE(Has(page, "no hazard in what was seen"));
  EXPECT_TRUE(Has(page, "INCOMPLETE"));
}

// --- in a browser, where there is one

std::string Browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    Ran found = Spawn({"/bin/sh", "-c", std::string("command -v ") + name});
    if (found.code == 0) return found.out.substr(0, found.out.find('\n'));
  }
  return "";
}

// The page with `script` run behind its own; what the script leaves in <pre id=result>.
std::string InBrowser(std::string page, const std::string& script) {
  page.insert(page.rfind("</body>"),
              "<pre id=result></pre><script>const out = []; const say = x => out.push(x);\n" +
                  script +
                  "\ndocument.getElementById('result').textContent = out.join('|');</script>");
  TemporaryFile file(page, ".html");
  Ran ran = Spawn({Browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--window-size=1280,900", "--dump-dom", "file://" + file.path()});
  const std::string open = "<pre id=\"result\">";
  const size_t begin = ran.out.find(open);
  if (begin == std::string::npos) return "no result: " + ran.err;
  return ran.out.substr(begin + open.size(), ran.out.find("</pre>", begin) - begin - open.size());
}

constexpr char kKey[] =
    "const key = k => document.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: "
    "true}));\n"
    "const colours = () => { painter.paint(view); const d = painter.g.getImageData(0, 0, "
    "canvas.width,"
    " canvas.height).data; const s = new Set(); for (let i = 0; i < d.length; i += 4)"
    " s.add((d[i] << 16) + (d[i + 1] << 8) + d[i + 2]); return s; };\n";

TEST(Browser, ThePictureIsDrawnAndKeysMoveIt) {
  if (Browser().empty()) GTEST_SKIP() << "no Chromium here";
  const std::string result = InBrowser(
      Page(kIncident1),
      std::string(kKey) +
          "say(colours().has(0xcf222e)); const s0 = view.scale; key('+'); say(view.scale > s0);"
          "const x0 = view.x0; key('ArrowRight'); say(view.x0 > x0); key('f'); say(view.scale === "
          "s0);"
          "key('a'); say(view.axis.focus); say(colours().size > 3); key('a'); "
          "say(view.axis.focus);");
  EXPECT_EQ(result, "true|true|true|true|false|true|true");
}

TEST(Browser, SearchFindsByNameNumberAndLane) {
  if (Browser().empty()) GTEST_SKIP() << "no Chromium here";
  const std::string result =
      InBrowser(Page(kIncident1),
                std::string(kKey) +
                    "const name = () => view.picture.names[view.picture.ops.name[view.found]];"
                    "search('unpermute_b'); say(name()); search('84'); say(name());"
                    "search('nothing like it'); say(document.getElementById('hit').textContent);");
  EXPECT_EQ(result, "unpermute_backward|exchange|nothing found");
}

TEST(Browser, NextHazardShowsItsWords) {
  if (Browser().empty()) GTEST_SKIP() << "no Chromium here";
  const std::string page = Tool({"pipeline", "check", "--format", "html", kProtocol}).err;
  const std::string result = InBrowser(
      page,
      std::string(kKey) +
          "const shown = () => [...document.querySelectorAll('article')].filter(a => !a.hidden)"
          ".map(a => a.id).join(); say(shown()); key('n'); say(shown()); key('n'); say(shown());"
          "key('p'); say(shown()); say(colours().size > 3);");
  EXPECT_EQ(result, "H1|H2|H2|H1|true");
}

TEST(Browser, AHundredThousandOperationsAreDrawnFast) {
  if (Browser().empty()) GTEST_SKIP() << "no Chromium here";
  std::string program = "stream a\nstream b\nalloc X 4K device\nalloc Y 4K device\n";
  for (int i = 0; i < 25'000; ++i) {
    program += "a: kernel k" + std::to_string(i % 50) +
               " write X\na: record E\nb: wait E\nb: kernel l write Y\n";
  }
  program += "b: kernel late read X\na: kernel again write X\n";
  TemporaryFile file(program, ".litmus");
  const std::string page = Page(file.path());
  EXPECT_GT(DataOf(page)["pictures"][0]["ops"]["id"].size(), 100'000u);
  const std::string result = InBrowser(
      page,
      std::string(kKey) +
          "key('a'); let worst = 0; for (let i = 0; i < 12; ++i) { const t = performance.now();"
          "painter.paint(view); worst = Math.max(worst, performance.now() - t);"
          "key(i % 2 ? 'ArrowRight' : '+'); } say(worst < 500 ? 'fast' : 'slow ' + worst);"
          "search('late'); say(view.found > 99000); say(colours().size > 3);");
  EXPECT_EQ(result, "fast|true|true");
}

// --- explain

TEST(Explain, TellsOneHazardOnOneScreen) {
  Ran ran = Tool({"explain", kIncident1, "H1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"Which buffer", "combined", "the missing edge",
                           "record_stream(combined, compute)", "which protects nothing", "Basis"}) {
    EXPECT_TRUE(Has(ran.out, part)) << part << "\n" << ran.out;
  }
  EXPECT_LE(std::count(ran.out.begin(), ran.out.end(), '\n'), 70) << ran.out;
}

TEST(Explain, TakesTheFirstDigitsOfAnId) {
  const Json report = Json::parse(Tool({"check", "--format", "json", kIncident1}).err);
  const std::string id = report["hazards"][0]["id"];
  EXPECT_EQ(Tool({"explain", kIncident1, id.substr(0, 6)}).out,
            Tool({"explain", kIncident1, "h1"}).out);
}

TEST(Explain, AnUnknownIdNamesThoseThatThereAre) {
  Ran ran = Tool({"explain", kIncident1, "H7"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "no hazard 'H7'") && Has(ran.err, "H1 ")) << ran.err;
  ran = Tool({"explain", kTraces + "i1_none.sst", "H1"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "there is none")) << ran.err;
  EXPECT_EQ(Tool({"explain", "/nowhere.sst", "H1"}).code, 2);
  EXPECT_EQ(Tool({"explain", kIncident1}).code, 2);
}

// What the pages show after `$ streamsan ...` is what the tool says.
TEST(Docs, SamplesAreWhatTheToolSays) {
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(SS_SOURCE_DIR);
  for (const char* page : {"docs/explain.md", "docs/ablation.md"}) {
    const std::string text = ReadFile(page), open = "```\n$ streamsan ";
    size_t samples = 0;
    for (size_t at = 0; (at = text.find(open, at)) != std::string::npos; ++samples) {
      const size_t command = at + open.size(), line = text.find('\n', command);
      at = text.find("```", line);
      std::istringstream words(text.substr(command, line - command));
      const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
      EXPECT_EQ(Tool(arguments).out, text.substr(line + 1, at - line - 1)) << page;
    }
    EXPECT_GT(samples, 0u) << page;
  }
  std::filesystem::current_path(here);
}

// --- baselines and suppressions

TEST(Baseline, KnownHazardsDoNotFailABuild) {
  for (const char* format : {"json", "sarif"}) {
    TemporaryFile known(Tool({"check", "--format", format, kIncident1}).err);
    Ran ran = Tool({"check", "--baseline", known.path(), kIncident1});
    EXPECT_EQ(ran.code, 0) << format << ran.err;
    EXPECT_TRUE(Has(ran.err, "1 hazard known from the baseline")) << ran.err;
    ran = Tool({"check", "--baseline", known.path(), kIncident2});
    EXPECT_EQ(ran.code, 66) << ran.err;
    EXPECT_TRUE(Has(ran.err, "1 hazard of the baseline did not show up")) << ran.err;
  }
}

TEST(Baseline, AnythingElseIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"schema\": 1}", "just words"}) {
    TemporaryFile file(text);
    Ran ran = Tool({"check", "--baseline", file.path(), kIncident1});
    EXPECT_EQ(ran.code, 2) << text;
    EXPECT_TRUE(Has(ran.err, file.path())) << ran.err;
  }
  EXPECT_EQ(Tool({"check", "--baseline", "/nowhere", kIncident1}).code, 2);
}

TEST(Suppressions, GeneratedOnesRemoveWhatTheyWereMadeOf) {
  for (const std::string& input :
       {kIncident1, kIncident2, kIncident3, kLitmus, kTraces + "nccl_copy.sst"}) {
    TemporaryFile lines("");
    Tool({"check", "--gen-suppressions", lines.path(), input});
    Ran ran = Tool({"check", "--suppressions", lines.path(), input});
    EXPECT_EQ(ran.code, 0) << input << "\n" << ReadFile(lines.path()) << ran.err;
    EXPECT_FALSE(Has(ran.err, "unused suppression")) << ran.err;
  }
  EXPECT_EQ(Tool({"check", "--gen-suppressions", "/nowhere/x", kIncident1}).code, 2);
}

// --- SARIF

TEST(Sarif, HasWhatTheStandardAsksFor) {
  const Json log = Json::parse(Tool({"check", "--format", "sarif", kLitmus}).err);
  EXPECT_EQ(log["version"], "2.1.0");
  const Json& run = log["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "StreamSan");
  ASSERT_EQ(run["results"].size(), 2u);  // a hazard and an advice
  for (const Json& result : run["results"]) {
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"],
              result["ruleId"]);
    EXPECT_TRUE(result["message"]["text"].is_string());
    EXPECT_FALSE(result["locations"].empty());
  }
  const Json& hazard = run["results"][0];
  EXPECT_EQ(hazard["level"], "error");
  EXPECT_TRUE(hazard["partialFingerprints"]["streamsan/v1"].is_string());
  EXPECT_EQ(hazard["locations"][0]["physicalLocation"]["region"]["startLine"], 17);
  EXPECT_TRUE(Has(hazard["message"]["text"], "record_stream(combined0, compute)"));
  EXPECT_EQ(run["results"][1]["level"], "note");
}

// --- Perfetto: the outer framing here; its trace processor is another test

TEST(Perfetto, IsASequenceOfPacketsInAFile) {
  TemporaryFile file("", ".pftrace");
  EXPECT_EQ(Tool({"check", "--format", "perfetto", "--report", file.path(), kIncident1}).code, 66);
  const std::string bytes = ReadFile(file.path());
  size_t at = 0, packets = 0;
  while (at < bytes.size()) {
    ASSERT_EQ(bytes[at], '\n');  // field 1, length-delimited
    ++at;
    uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      ASSERT_LT(at, bytes.size());
      const unsigned char c = static_cast<unsigned char>(bytes[at++]);
      length |= uint64_t{c & 0x7fu} << shift;
      if (c < 0x80) break;
    }
    at += length;
    ++packets;
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_GT(packets, 200u);
  EXPECT_TRUE(Has(bytes, "unpermute_backward"));
  EXPECT_TRUE(Has(bytes, "H1 lifetime combined: too early"));
}

TEST(Perfetto, AmongSeveralRanksEveryLaneHasItsRank) {
  TemporaryFile file("", ".pftrace");
  Tool({"check", "--format", "perfetto", "--report", file.path(), kRules + "r08_ipc_bad.litmus"});
  const std::string bytes = ReadFile(file.path());
  EXPECT_TRUE(Has(bytes, "rank0 producer (stream)"));
  EXPECT_TRUE(Has(bytes, "rank1 consumer (stream)"));
  Tool({"check", "--format", "perfetto", "--report", file.path(), kIncident2, kIncident2});
  const std::string two = ReadFile(file.path()), hazard = "H1 race-raw gradient: too early";
  EXPECT_TRUE(Has(two, "rank 1: "));
  EXPECT_TRUE(Has(two, hazard));
  EXPECT_EQ(two.find(hazard), two.rfind(hazard));  // where it was, and not at the other one's
}

TEST(Perfetto, IsNotPouredIntoATerminal) {
  Ran ran = Tool({"check", "--format", "perfetto", kIncident1});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "--report FILE")) << ran.err;
}

}  // namespace
}  // namespace ss
