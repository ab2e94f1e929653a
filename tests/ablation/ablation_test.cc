// Waits taken out one at a time: what is said of each, against the brute-force reference.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "src/explain/ablate.h"
#include "tests/ablation/oracle.h"
#include "tests/cli/process.h"
#include "tests/engine/from_litmus.h"
#include "tests/reference/reference.h"

namespace ss {
namespace {

Ablation AblationOf(const Program& program, AblateOptions options = {}) {
  AnalyseOptions analyse;
  analyse.verify = false;
  Analysis analysis(program, analyse);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  Result<Ablation> ablation = analysis.Ablate(options);
  EXPECT_TRUE(ablation.has_value());
  return ablation ? *ablation : Ablation{};
}

std::vector<std::string> Verdicts(const std::string& text) {
  std::vector<std::string> verdicts;
  for (const Wait& wait : AblationOf(FromLitmus(text)).waits) {
    verdicts.push_back(fmt::format("{}: {}", wait.text, Name(wait.verdict)));
  }
  return verdicts;
}

// With signals and ranks: the oracle knows neither.
bool AmongRanks(const LitmusFile& file) {
  return std::any_of(file.needs.begin(), file.needs.end(), [](const LitmusFile::Need& need) {
    return need.rule == 8 || need.rule == 11 || need.rule == 23;
  });
}

std::vector<LitmusFile> Cases() {
  std::vector<LitmusFile> cases;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SS_SOURCE_DIR "/tests/litmus")) {
    if (entry.path().extension() != ".litmus") continue;
    auto file = ParseLitmus(ReadFile(entry.path()), entry.path().filename());
    if (!file) continue;
    const bool modelled = std::all_of(file->needs.begin(), file->needs.end(), [](const auto& need) {
      return reference::Models(need.rule);
    });
    if (modelled) cases.push_back(std::move(*file));
  }
  return cases;
}

using Lines = std::vector<std::string>;

constexpr char kStreams[] = "stream a\nstream b\nalloc X 4K device\nalloc Y 4K device\n";

TEST(Ablate, AWaitBetweenWriterAndReaderIsLoadBearing) {
  const std::string text =
      std::string(kStreams) + "a: kernel k write X\na: record E\nb: wait E\nb: kernel l read X\n";
  EXPECT_EQ(Verdicts(text), Lines{"b waits for E of a: load-bearing"});
  const Ablation ablation = AblationOf(FromLitmus(text));
  EXPECT_EQ(ablation.hazards, 0u);
  ASSERT_EQ(ablation.waits[0].hazards.size(), 1u);
  EXPECT_EQ(ablation.waits[0].hazards[0].code, "race-raw");
}

TEST(Ablate, TheSameWaitForOtherDataIsRedundant) {
  EXPECT_EQ(Verdicts(std::string(kStreams) +
                     "a: kernel k write X\na: record E\nb: wait E\nb: kernel l write Y\n"),
            Lines{"b waits for E of a: redundant"});
}

// The wait is in the wrong place: the hazard is there with it and without it.
TEST(Ablate, AWaitThatComesTooLateIsRedundant) {
  const std::string text =
      std::string(kStreams) + "a: kernel k write X\na: record E\nb: kernel l read X\nb: wait E\n";
  EXPECT_EQ(Verdicts(text), Lines{"b waits for E of a: redundant"});
  EXPECT_EQ(AblationOf(FromLitmus(text)).hazards, 1u);
}

TEST(Ablate, OfTwoWaitsThatDoTheSameNeitherIsNeeded) {
  EXPECT_EQ(Verdicts(std::string(kStreams) +
                     "a: kernel k write X\na: record E\nb: wait E\nsync a\nb: kernel l read X\n"),
            (Lines{"b waits for E of a: redundant", "main waits for a: redundant"}));
}

TEST(Ablate, RecordStreamIsAWait) {
  const std::string head =
      "stream a\nstream b\nalloc X 4K on a\na: kernel k write X\na: record E\nb: wait E\n"
      "b: kernel l read X\nrecord_stream X b\n";
  EXPECT_EQ(Verdicts(head + "free X\nalloc Y 4K on a reuse X\na: kernel m write Y\n"),
            (Lines{"b waits for E of a: load-bearing", "record_stream(X, b): load-bearing"}));
  const Lines covered = Verdicts(head + "sync b\nfree X\nalloc Y 4K on a reuse X\n");
  ASSERT_EQ(covered.size(), 3u);
  EXPECT_EQ(covered[1], "record_stream(X, b): redundant");
}

// Two waits that do the same at two places: either can go, not both, and that is said.
TEST(Ablate, TwoThatAreRedundantOnlyOneByOneAreNamed) {
  const Ablation ablation = AblationOf(
      FromLitmus(std::string(kStreams) + "a: kernel k write X\na: record E\nb: wait E\nsync a\n"
                                         "b: kernel l read X\nb: record F\na: wait F\n"));
  ASSERT_EQ(ablation.places.size(), 3u);
  EXPECT_EQ(ablation.places[0].verdict, WaitVerdict::kRedundant);
  EXPECT_EQ(ablation.places[1].verdict, WaitVerdict::kRedundant);
  EXPECT_EQ(ablation.places[2].verdict, WaitVerdict::kRedundant);
  ASSERT_EQ(ablation.minimal.size(), 1u);
  const size_t stays = ablation.minimal[0];
  EXPECT_LT(stays, 2u);
  EXPECT_EQ(ablation.places[stays].not_without, std::vector<size_t>{1 - stays});
  EXPECT_TRUE(ablation.minimal_whole);
}

// Hundreds of needless places cost a few replays, not one each.
TEST(Ablate, PlacesAreTriedInSets) {
  std::string text = kStreams;
  for (int i = 0; i < 400; ++i) text += "a: kernel k write X\nsync b\n";
  text += "a: record E\nb: wait E\nb: kernel l read X\n";
  Program program = FromLitmus(text);
  AblateOptions options;
  options.max_replayed = 40 * program.ops.size();
  const Ablation ablation = AblationOf(program, options);
  ASSERT_EQ(ablation.places.size(), 401u);
  for (size_t i = 0; i < 400; ++i)
    EXPECT_EQ(ablation.places[i].verdict, WaitVerdict::kRedundant) << i;
  EXPECT_EQ(ablation.places[400].verdict, WaitVerdict::kLoadBearing);
  EXPECT_EQ(ablation.minimal, std::vector<size_t>{400});
}

TEST(Ablate, WhatANeedlessWaitCostsIsSaid) {
  const Ablation ablation =
      AblationOf(FromLitmus(std::string(kStreams) +
                            "a: kernel k write X\na: kernel k write X\na: record E\nb: wait E\n"
                            "b: kernel l write Y\nalloc R 1M on a\nrecord_stream R b\n"
                            "a: kernel k write R\nfree R\n"));
  ASSERT_EQ(ablation.places.size(), 2u);
  EXPECT_EQ(ablation.places[0].path_before, 3u);
  EXPECT_EQ(ablation.places[0].path_after, 3u);  // a has three operations of its own
  EXPECT_EQ(ablation.places[0].delay, 2u);       // l need not be the third of a chain
  EXPECT_EQ(ablation.places[1].held_blocks, 1u);
  EXPECT_EQ(ablation.places[1].held_bytes, uint64_t{1} << 20);
}

// What was not complete orders nothing: there is nothing to take out.
TEST(Ablate, AQueryIsAWaitWhereItSaidComplete) {
  Program program = FromLitmus(
      "stream s\nalloc H 4K pinned\nalloc D 4K device\ns: copy H <- D\nsync s\nmain: read H\n");
  Op& query = The(program, OpKind::kStreamSync);
  query.kind = OpKind::kStreamQuery;
  const std::vector<Wait> waits = AblationOf(program).waits;
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].text, "main saw s complete");
  EXPECT_EQ(waits[0].verdict, WaitVerdict::kLoadBearing);
  query.flags = kNotReady;
  EXPECT_TRUE(AblationOf(program).waits.empty());
}

// One try of all eight: the last one is to blame for the pair that it alone stands between, and the
// others are not known of.
TEST(Ablate, ASynchronisationNamesTheContextOrTheDevice) {
  EXPECT_EQ(
      Verdicts("mode strict\ncontext P\ncontext G green\nstream a\nstream g context G\n"
               "alloc X 4K pinned\nalloc Y 4K pinned\n"
               "g: kernel k write X\nsync G\nmain: read X\n"
               "a: kernel l write Y\nsync P\nmain: read Y\nsync device\nsync device 1\n"),
      (Lines{"main waits for context G: load-bearing", "main waits for context P: load-bearing",
             "main waits for the device: redundant", "main waits for device 1: redundant"}));
}

TEST(Ablate, BeyondTheBudgetWaitsAreNotTried) {
  std::string text = kStreams;
  for (int i = 0; i < 8; ++i) text += "a: kernel k write X\nsync a\n";
  Program program = FromLitmus(text + "b: kernel l read X\n");
  for (Op& op : program.ops) op.line = 0;  // one place
  AblateOptions options;
  options.max_replayed = program.ops.size();
  size_t tried = 0;
  const Ablation ablation = AblationOf(program, options);
  for (const Wait& wait : ablation.waits) tried += wait.verdict != WaitVerdict::kNotTried;
  EXPECT_EQ(tried, 1u);
  EXPECT_EQ(ablation.waits.back().verdict, WaitVerdict::kLoadBearing);
}

// Tries of many at once say the same as tries one by one.
TEST(Ablate, FewTriesSayNothingElse) {
  size_t same = 0;
  for (LitmusFile& file : Cases()) {
    const Program& program = file.program;
    const Ablation all = AblationOf(program);
    for (uint64_t tries : {1, 3, 6}) {
      AblateOptions few;
      few.max_replayed = tries * program.ops.size();
      const Ablation some = AblationOf(program, few);
      for (size_t i = 0; i < all.waits.size(); ++i) {
        if (some.waits[i].verdict == WaitVerdict::kNotTried) continue;
        EXPECT_EQ(some.waits[i].verdict, all.waits[i].verdict)
            << program.source << ":" << all.waits[i].line << " with " << tries;
        ++same;
      }
    }
  }
  EXPECT_GT(same, 300u);
}

// Thousands of waits, all needed and each at a place of its own, in a few tries.
TEST(Ablate, ManyLoadBearingPlacesAreToldApartTogether) {
  std::string text = kStreams;
  for (int i = 0; i < 2000; ++i) {
    text +=
        "a: kernel k write X\na: record E\nb: wait E\nb: kernel l read X\nb: record F\na: wait F\n";
  }
  Program program = FromLitmus(text);
  AblateOptions options;
  options.max_replayed = 40 * program.ops.size();
  const Ablation ablation = AblationOf(program, options);
  ASSERT_EQ(ablation.waits.size(), 4000u);
  size_t needed = 0;
  for (const Wait& wait : ablation.waits) needed += wait.verdict == WaitVerdict::kLoadBearing;
  EXPECT_EQ(needed, 3999u);  // the last wait has nobody behind it
}

TEST(Ablate, TheEndOfASynchronisationGoesWithItsBegin) {
  Program program = FromLitmus(
      "stream s\nalloc H 4K pinned\nalloc D 4K device\ns: copy H <- D\n"
      "sync s\nmain: read H\n");
  Op& sync = The(program, OpKind::kStreamSync);
  sync.flags |= kSyncBegin;
  Op end;
  end.kind = OpKind::kSyncEnd;
  end.host = sync.host;
  end.value = sync.id;
  const size_t at = static_cast<size_t>(&sync - program.ops.data());
  program.ops.insert(program.ops.begin() + static_cast<ptrdiff_t>(at) + 1, end);
  const Tape tape{&program, &program.ops, &program.accesses, false};
  EXPECT_EQ(WithoutWait(tape, at).removals, (std::set<size_t>{at, at + 1}));
  EXPECT_EQ(AblationOf(program).waits.at(0).verdict, WaitVerdict::kLoadBearing);
}

// Every wait of every hand-written case, by the reference: hazards that are not there with the
// wait.
using Hazards = std::map<std::tuple<std::string, std::string, OpId, OpId>, int>;

Hazards ByReference(const Program& program) {
  Hazards hazards;
  for (const auto& hazard : reference::Judge(program).hazards) {
    if (hazard.absorbed) continue;
    ++hazards[{hazard.code, hazard.buffer, program.ops[hazard.first].id,
               program.ops[hazard.second].id}];
  }
  return hazards;
}

bool NewHazards(const Hazards& before, const Hazards& after) {
  return std::any_of(after.begin(), after.end(), [&](const auto& hazard) {
    auto known = before.find(hazard.first);
    return known == before.end() || known->second < hazard.second;
  });
}

TEST(Ablate, AgreesWithTheReferenceOnEveryCase) {
  size_t needed = 0, redundant = 0;
  for (LitmusFile& file : Cases()) {
    Program& program = file.program;
    const Ablation ablation = AblationOf(program, {.min_confidence = Confidence::kPossible});
    const Hazards before = ByReference(program);
    for (const Wait& wait : ablation.waits) {
      const Op kept = program.ops[wait.index];
      program.ops[wait.index].kind = OpKind::kEventDestroy;
      const bool bearing = NewHazards(before, ByReference(program));
      program.ops[wait.index] = kept;
      EXPECT_EQ(wait.verdict == WaitVerdict::kLoadBearing, bearing)
          << program.source << ":" << wait.line << ": " << wait.text;
      (bearing ? needed : redundant)++;
    }
  }
  EXPECT_GT(needed, 30u);
  EXPECT_GT(redundant, 10u);
}

// The oracle that judges recorded programs, on the same cases: those without a caching allocator,
// and without a hazard from the start, since it does not go on as if that one's edge were there.
TEST(Oracle, AgreesWithTheReferenceOnEveryCase) {
  size_t needed = 0, redundant = 0;
  for (LitmusFile& file : Cases()) {
    Program& program = file.program;
    if (AmongRanks(file)) continue;
    Oracle oracle(program);
    const Hazards before = ByReference(program);
    if (oracle.unjudged_frees() != 0 || !before.empty()) continue;
    for (const Wait& wait : AblationOf(program).waits) {
      if (wait.kind == OpKind::kRecordStream) continue;
      const Op kept = program.ops[wait.index];
      program.ops[wait.index].kind = OpKind::kEventDestroy;
      const bool bearing = NewHazards(before, ByReference(program));
      program.ops[wait.index] = kept;
      EXPECT_EQ(oracle.LoadBearing({wait.index}), bearing)
          << program.source << ":" << wait.line << ": " << wait.text;
      (bearing ? needed : redundant)++;
    }
  }
  EXPECT_GT(needed, 20u);
  EXPECT_GT(redundant, 5u);
}

TEST(Command, SaysWhatAppearsWithoutEachWait) {
  TemporaryFile file(
      std::string(kStreams) + "a: kernel k write X\na: record E\nb: wait E\nb: kernel l read X\n",
      ".litmus");
  Ran text = Tool({"ablate", file.path()});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(Has(text.out, "without it  race-raw")) << text.out;
  EXPECT_TRUE(Has(text.out, "1 wait at 1 place: 1 load-bearing, 0 redundant, 0 not tried"))
      << text.out;
  auto json = nlohmann::json::parse(Tool({"ablate", "--format", "json", file.path()}).out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["load_bearing"], 1);
  EXPECT_EQ(json["waits"][0]["verdict"], "load-bearing");
  EXPECT_EQ(json["waits"][0]["hazards"][0]["buffer"]["name"], "X");
}

TEST(Command, WhatItCannotReadExitsTwo) {
  TemporaryFile garbage("not a trace", ".sst");
  Ran ran = Tool({"ablate", garbage.path()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, garbage.path())) << ran.err;
  EXPECT_EQ(Tool({"ablate", "/nowhere.sst"}).code, 2);
  EXPECT_EQ(Tool({"ablate"}).code, 2);
}

}  // namespace
}  // namespace ss
