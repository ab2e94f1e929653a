// What a recording shows. Recordings here are made from protocols (recorder.h), so that what must
// and must not be found is known.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "src/pipeline/check.h"
#include "src/pipeline/observe.h"
#include "tests/pipeline/generator.h"
#include "tests/pipeline/recorder.h"

namespace ss::pipeline {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Protocol Parsed(const std::string& text) {
  Result<Protocol> protocol = ParseProtocol(text, "test.pipe");
  EXPECT_TRUE(protocol.has_value()) << protocol.error().Text();
  return *protocol;
}

Observation Observed(const std::string& log) {
  Result<Recording> recording = ReadRecording(log, "test.sslog");
  EXPECT_TRUE(recording.has_value()) << recording.error().Text();
  return recording ? Observe(*recording) : Observation{};
}

Observation Watched(const std::string& text, const RecorderOptions& options = {}) {
  const Protocol protocol = Parsed(text);
  const Program program = Lower(protocol);
  return Observed(RecordRun(program, options).log);
}

std::string Codes(const Observation& seen) {
  std::string text;
  for (const SeenFinding& finding : seen.findings)
    text += finding.code + " " + finding.role + ": " + finding.text + "\n";
  return text;
}

const SeenFinding* Find(const Observation& seen, const std::string& code) {
  for (const SeenFinding& finding : seen.findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

constexpr char kStore[] =
    "pipeline o_store stages 1 producers CG1 consumers EPI\n"
    "role CG0 warps 4 { delay TAIL }\n"
    "role CG1 warps 4 { for N { acquire o_store; write o_store; commit o_store }; tail o_store }\n"
    "role EPI { for N { wait o_store; read o_store; release o_store } }\n";

std::string Store(int chunks, bool stray) {
  std::string text = kStore;
  text.replace(text.find("TAIL"), 4, stray ? "; tail o_store" : "");
  for (size_t at; (at = text.find(" N ")) != text.npos;)
    text.replace(at, 3, " " + std::to_string(chunks) + " ");
  return text;
}

TEST(PipelineObserve, TheStrayTailIsFoundInEveryRun) {
  for (int chunks = 1; chunks <= 6; ++chunks) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const Observation seen = Watched(Store(chunks, true), {seed});
      const SeenFinding* owner = Find(seen, "pipeline-owner");
      ASSERT_NE(owner, nullptr) << chunks << " chunks, seed " << seed << "\n" << Codes(seen);
      EXPECT_EQ(owner->role, "warps 0-3");
      EXPECT_EQ(owner->other, "warps 4-7");
      EXPECT_EQ(Find(seen, "pipeline-deadlock") != nullptr, seen.hung) << Codes(seen);
      EXPECT_FALSE(chunks % 2 == 0 && seen.hung);
    }
  }
}

// A look may sleep until the barrier has gone on and fail all the same: what is read of the object
// then is not what it saw, and its parity comes out wrong. The look that passes behind it counts.
TEST(PipelineObserve, TheStrayTailIsFoundWhereItsFirstLookIsReadLate) {
  for (int chunks = 1; chunks <= 6; ++chunks) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      RecorderOptions options{seed};
      options.late_looks = true;
      const Observation seen = Watched(Store(chunks, true), options);
      const SeenFinding* owner = Find(seen, "pipeline-owner");
      ASSERT_NE(owner, nullptr) << chunks << " chunks, seed " << seed << "\n" << Codes(seen);
      EXPECT_EQ(owner->role, "warps 0-3");
    }
  }
}

TEST(PipelineObserve, TheOwnersTailIsSilent) {
  for (int chunks = 1; chunks <= 6; ++chunks) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      RecorderOptions options{seed};
      options.late_looks = seed % 2;
      EXPECT_EQ(Codes(Watched(Store(chunks, false), options)), "");
    }
  }
}

TEST(PipelineObserve, RolesAndPairsAreInferred) {
  const Observation seen = Watched(Store(4, false));
  ASSERT_EQ(seen.kernels.size(), 1U);
  const SeenKernel& kernel = seen.kernels[0];
  ASSERT_EQ(kernel.pairs.size(), 1U);
  const SeenPair& pair = kernel.pairs[0];
  EXPECT_TRUE(pair.oriented);
  ASSERT_EQ(pair.producers.size(), 1U);
  EXPECT_EQ(kernel.roles[pair.producers[0]].name, "warps 4-7");
  ASSERT_EQ(pair.consumers.size(), 1U);
  EXPECT_EQ(kernel.roles[pair.consumers[0]].name, "warp 8");
  EXPECT_EQ(kernel.barriers.at(pair.full).phases, 8U);  // four chunks, two blocks
  EXPECT_EQ(kernel.barriers.at(pair.empty).phases, 8U);
}

TEST(PipelineObserve, AHangIsExplained) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Observation seen = Watched(Store(3, true), {seed, 1});
    if (!seen.hung) continue;
    const SeenFinding* stuck = Find(seen, "pipeline-deadlock");
    ASSERT_NE(stuck, nullptr);
    EXPECT_EQ(stuck->role, "warps 0-3");
    EXPECT_NE(stuck->text.find("parity 1"), std::string::npos) << stuck->text;
    std::string details;
    for (const std::string& detail : stuck->details) details += detail + "\n";
    EXPECT_NE(details.find("3 phases are complete: parity 1 is closed"), std::string::npos)
        << details;
    EXPECT_NE(details.find("1 of 1 arrivals of the phase are missing"), std::string::npos)
        << details;
    EXPECT_NE(details.find("warp 8 arrives there, and has left the kernel"), std::string::npos)
        << details;
    EXPECT_NE(details.find("stands at phase 0, which is over"), std::string::npos) << details;
    return;
  }
  FAIL() << "no seed hangs";
}

// Two roles take turns on one slot; CG0 must not look before CG1 has had its turn.
constexpr char kTurns[] =
    "pipeline acc stages 1 producers MMA consumers CG0 CG1 arrivals 1\n"
    "pipeline order stages 1 producers CG0 consumers CG1\n"
    "role MMA { for 8 { acquire acc; write acc; commit acc } }\n"
    "role CG0 { for 4 { FIRST; SECOND; read acc; release acc; advance acc; commit order } }\n"
    "role CG1 { for 4 { advance acc; wait order; wait acc; read acc; release acc; release order } "
    "}\n";

std::string Turns(bool early) {
  std::string text = kTurns;
  text.replace(text.find("FIRST"), 5, early ? "wait acc" : "acquire order");
  text.replace(text.find("SECOND"), 6, early ? "acquire order" : "wait acc");
  return text;
}

// Also in the runs in which nobody was too early.
TEST(PipelineObserve, APassTwoPhasesEarlyIsFound) {
  int struck = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Observation seen = Watched(Turns(true), {seed, 1});
    const SeenFinding* early = Find(seen, "pipeline-early");
    if (!early) {
      EXPECT_TRUE(seen.hung) << "seed " << seed;  // before it came to that
      continue;
    }
    EXPECT_EQ(early->role, "warp 1") << Codes(seen);
    struck += early->certain;
    EXPECT_EQ(Codes(Watched(Turns(false), {seed})), "");
  }
  EXPECT_GT(struck, 5);
  EXPECT_LT(struck, 35);
}

// cp.async: the producer's arrivals come when its copies are done, and are logged when issued.
TEST(PipelineObserve, ArrivalsThatComeLaterCount) {
  for (int chunks = 1; chunks <= 6; ++chunks) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      RecorderOptions options{seed};
      options.later = {"o_store"};
      const Observation good = Watched(Store(chunks, false), options);
      EXPECT_EQ(Codes(good), "") << chunks << " chunks, seed " << seed;
      ASSERT_EQ(good.kernels[0].pairs.size(), 1U);
      EXPECT_TRUE(good.kernels[0].pairs[0].oriented);
      EXPECT_EQ(good.kernels[0].barriers.at(good.kernels[0].pairs[0].full).phases, 2U * chunks);
      EXPECT_TRUE(good.kernels[0].Unseen().empty());
      const Observation bad = Watched(Store(chunks, true), options);
      const SeenFinding* owner = Find(bad, "pipeline-owner");
      ASSERT_NE(owner, nullptr) << chunks << " chunks, seed " << seed << "\n" << Codes(bad);
      EXPECT_EQ(owner->role, "warps 0-3");
    }
  }
}

TEST(PipelineObserve, APassTwoPhasesEarlyIsFoundWhereArrivalsComeLater) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RecorderOptions options{seed, 1};
    options.later = {"acc"};
    const Observation seen = Watched(Turns(true), options);
    const SeenFinding* early = Find(seen, "pipeline-early");
    EXPECT_TRUE(seen.hung || (early && early->role == "warp 1")) << seed << Codes(seen);
    EXPECT_EQ(Codes(Watched(Turns(false), options)), "") << seed;
  }
}

// Somebody moves the full barrier whom the log does not show: its phases cannot be counted, nor can
// it be said who never fills it.
TEST(PipelineObserve, ArrivalsThatWereNotSeenAreNamedAndNotJudged) {
  for (int chunks = 1; chunks <= 6; ++chunks) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      RecorderOptions options{seed};
      options.hidden = {"o_store"};
      const Observation seen = Watched(Store(chunks, false), options);
      EXPECT_EQ(Codes(seen), "") << chunks << " chunks, seed " << seed;
      EXPECT_EQ(seen.kernels[0].Unseen(), std::vector<uint32_t>{0x400});
      EXPECT_GT(seen.kernels[0].withheld, 0U);
      const Observation bad = Watched(Store(chunks, true), options);
      EXPECT_EQ(Find(bad, "pipeline-early"), nullptr) << Codes(bad);
      EXPECT_EQ(Find(bad, "pipeline-deadlock") != nullptr, bad.hung) << Codes(bad);
    }
  }
}

// The role knows what those know whom it waited for, and those are unknown here: what it could have
// passed early is not said. What it did pass early is.
TEST(PipelineObserve, WhatStruckIsFoundBehindArrivalsThatWereNotSeen) {
  int struck = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const std::string text =
        "pipeline in stages 1 producers LOAD consumers CG0\n"
        "role LOAD { for 4 { acquire in; write in; commit in } }\n" +
        Turns(true);
    std::string with = text;
    with.replace(with.find("wait acc;"), 9, "wait in; read in; release in; wait acc;");
    RecorderOptions options{seed, 1};
    options.hidden = {"in"};
    const Observation seen = Watched(with, options);
    const SeenFinding* early = Find(seen, "pipeline-early");
    struck += early != nullptr;
    EXPECT_TRUE(!early || early->certain) << Codes(seen);
  }
  EXPECT_GT(struck, 5);
}

// Without the objects neither parities nor phases are known: nothing is said of them, and that is
// said.
TEST(PipelineObserve, WhatCouldNotBeReadIsNotJudgedAndCounted) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RecorderOptions options{seed};
    options.unread = true;
    const Observation seen = Watched(Store(4, seed % 2 != 0), options);
    EXPECT_EQ(Codes(seen), "") << seed;
    EXPECT_GT(seen.kernels[0].unread, 0U);
    EXPECT_EQ(Watched(Store(4, false), {seed}).kernels[0].unread, 0U);
    const Observation early = Watched(Turns(true), options);
    EXPECT_EQ(Find(early, "pipeline-early"), nullptr) << Codes(early);
    const SeenFinding* stuck = Find(early, "pipeline-deadlock");
    EXPECT_TRUE(!stuck || stuck->text.find("with parity") == stuck->text.npos) << stuck->text;
  }
}

// Of the objects the parity alone is known: phases are counted all the same.
TEST(PipelineObserve, ParitiesAloneAreEnough) {
  int struck = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RecorderOptions options{seed};
    options.parities = true;
    for (int chunks = 1; chunks <= 6; ++chunks) {
      const Observation seen = Watched(Store(chunks, true), options);
      const SeenFinding* owner = Find(seen, "pipeline-owner");
      ASSERT_NE(owner, nullptr) << chunks << " chunks, seed " << seed << "\n" << Codes(seen);
      EXPECT_EQ(owner->role, "warps 0-3");
      EXPECT_EQ(seen.kernels[0].unread, 0U);
      EXPECT_EQ(Codes(Watched(Store(chunks, false), options)), "");
      RecorderOptions later = options;
      later.later = {"o_store"};  // when they come is not known: no wait on them is judged
      EXPECT_EQ(Codes(Watched(Store(chunks, false), later)), "");
      RecorderOptions hidden = options;
      hidden.hidden = {"o_store"};
      EXPECT_EQ(Codes(Watched(Store(chunks, false), hidden)), "");
    }
    const Observation seen = Watched(Turns(true), options);
    struck += Find(seen, "pipeline-early") != nullptr;
    EXPECT_EQ(Codes(Watched(Turns(false), options)), "");
  }
  EXPECT_GT(struck, 30);
}

TEST(PipelineObserve, BarriersThatNobodyUsesAreCounted) {
  LogWriter log;
  log.Launch(0, "k", 1, 2);
  log.Add(0, 0, RecordKind::kInit, 0x400);
  log.Add(0, 1, RecordKind::kInit, 0x7af8);
  log.Add(0, 0, RecordKind::kArrive, 0x400).word = MakeWord(1, 1, 0);
  const Observation seen = Observed(log.End());
  EXPECT_EQ(seen.kernels[0].barriers.size(), 1U);
  EXPECT_EQ(seen.kernels[0].unused, 1U);
}

TEST(PipelineObserve, BothSidesThatBeginAsProducersAreFound) {
  // The consumer's state has the producer's phase: one lap behind all the time.
  const std::string good =
      "mbar full arrivals 1\nmbar empty arrivals 1\n"
      "role P { await empty 1; arrive full; await empty 0; arrive full }\n";
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_EQ(
        Codes(Watched(good + "role C { await full 0; arrive empty; await full 1; arrive empty }\n",
                      {seed})),
        "");
  }
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Observation seen = Watched(
        good + "role C { await full 1; arrive empty; await full 0; arrive empty }\n", {seed});
    const SeenFinding* early = Find(seen, "pipeline-early");
    found += early && early->role == "warp 1";
  }
  EXPECT_GT(found, 10);
}

// Each of its warps releases, and the empty side takes one arrival: it is ahead of the full one.
TEST(PipelineObserve, ASideThatIsAheadOfTheOtherIsFound) {
  const std::string load =
      "role LOAD { for 4 { acquire store; write store; commit store }; tail store }\n";
  const std::string store =
      "role EPI warps 2 { for 4 { wait store; read store; release store } }\n";
  const std::string pipe = "pipeline store stages 1 producers LOAD consumers EPI";
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Observation seen = Watched(pipe + " arrivals 1\n" + load + store, {seed, 1});
    const SeenFinding* ahead = Find(seen, "pipeline-overtake");
    found += ahead != nullptr;
    EXPECT_TRUE(ahead ? ahead->role == "warps 1-2" : seen.hung) << seed << Codes(seen);
    EXPECT_EQ(Codes(Watched(pipe + "\n" + load + store, {seed})), "");
    // A producer that commits each use twice.
    std::string twice = load;
    twice.replace(twice.find("commit store"), 12, "commit store; commit store");
    const Observation other = Watched(pipe + "\n" + twice + store, {seed, 1});
    EXPECT_TRUE(Find(other, "pipeline-overtake") || other.hung) << seed << Codes(other);
  }
  EXPECT_GT(found, 30);
}

// Consumers that give each slot back before its first use: the producer begins with parity 0.
TEST(PipelineObserve, SlotsThatAreGivenBackFirstAreInTurn) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const std::string text =
        "mbar full arrivals 1\nmbar empty arrivals 1\n"
        "role P { await empty 0; expect_tx full 8; arrive full; complete_tx full 8; await empty 1; "
        "expect_tx full 8; arrive full; complete_tx full 8 }\n"
        "role C { arrive empty; await full 0; arrive empty; await full 1; arrive empty }\n";
    EXPECT_EQ(Codes(Watched(text, {seed})), "") << seed;
  }
}

// By its own arrival a warp knows which phase it is in: the other parity stands for no phase that
// it could mean.
TEST(PipelineObserve, AParityThatOwnArrivalsDoNotExplainIsFound) {
  const std::string good =
      "mbar m arrivals 2\nrole a { arrive m; await m 0; arrive m; await m 1 }\n";
  const std::string tail = "role b { arrive m; await m 0; arrive m; await m 1 }\n";
  std::string bad = good;
  bad.replace(bad.find("await m 1"), 9, "await m 0");
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_EQ(Codes(Watched(good + tail, {seed})), "") << seed;
    const Observation seen = Watched(bad + tail, {seed, 1});
    const SeenFinding* early = Find(seen, "pipeline-early");
    found += early != nullptr;
    EXPECT_TRUE(early ? early->certain && early->role == "warp 0" : seen.hung) << Codes(seen);
  }
  EXPECT_GT(found, 5);
  EXPECT_LT(found, 40);
}

TEST(PipelineObserve, AConsumerThatBeginsAsAProducerIsFoundBesideARightOne) {
  const std::string rest =
      "mbar full arrivals 1\nmbar empty arrivals 2\n"
      "role P { await empty 1; arrive full; await empty 0; arrive full }\n"
      "role A { await full 0; arrive empty; await full 1; arrive empty }\n";
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Observation seen = Watched(
        rest + "role B { await full 1; arrive empty; await full 0; arrive empty }\n", {seed, 1});
    const SeenFinding* early = Find(seen, "pipeline-early");
    found += early != nullptr;
    EXPECT_TRUE(!early || early->role == "warp 2") << Codes(seen);
  }
  EXPECT_GT(found, 5);
}

TEST(PipelineObserve, AWaitBeforeTheBlocksBarrierIsFoundWheneverItComes) {
  for (const bool before : {false, true}) {
    RecorderOptions options{1};
    options.early = {"CG1"};
    options.before_init = before;
    const Observation seen = Watched(Store(2, false), options);
    const SeenFinding* early = Find(seen, "pipeline-early");
    ASSERT_NE(early, nullptr) << before;
    EXPECT_EQ(early->role, "warps 4-7");
    EXPECT_NE(early->text.find("initialised"), std::string::npos) << early->text;
  }
}

TEST(PipelineObserve, AWaitBeforeTheInitialisationIsKnown) {
  const Protocol protocol = Parsed(Store(2, false));
  const Program program = Lower(protocol);
  const Observation bad = Observed(RecordRun(program, {1, 1, false}).log);
  const SeenFinding* early = Find(bad, "pipeline-early");
  ASSERT_NE(early, nullptr);
  EXPECT_NE(early->text.find("initialised"), std::string::npos) << early->text;
  EXPECT_EQ(Codes(Observed(RecordRun(program, {1, 1, true}).log)), "");
}

void CompareRun(const RecordedRun& run, const std::set<std::string>& codes,
                const std::string& name) {
  const Observation seen = Observed(run.log);
  for (const SeenFinding& finding : seen.findings) {
    EXPECT_TRUE(codes.count(finding.code))
        << name << ": " << finding.code << " " << finding.role << ": " << finding.text;
  }
  EXPECT_EQ(Find(seen, "pipeline-deadlock") != nullptr, run.stuck) << name << Codes(seen);
}

// A recording shows one schedule of a protocol; the checker knows all. What is right in every
// schedule is silent in each, and whoever hangs is said to. A wrong one may look early, too:
// arrivals that should not be there stand in for others. Raw mbarriers have no declared owner, so
// that a stranger who looks at one with a producer's state is as good as a stray tail.
void Compare(const Protocol& protocol, const std::string& name, uint64_t seeds) {
  const Program program = Lower(protocol);
  if (program.agents.size() > kMaxWarps) return;
  const Verdict verdict = Check(program);
  if (!verdict.exhaustive) return;
  std::set<std::string> codes;
  for (const Finding& finding : verdict.findings) codes.insert(finding.code);
  if (!codes.empty()) codes.insert({"pipeline-early", "pipeline-overtake"});
  if (!protocol.mbars.empty()) codes.insert("pipeline-owner");
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    CompareRun(RecordRun(program, {seed}), codes, name + " seed " + std::to_string(seed));
    RecorderOptions parities{seed};
    parities.parities = true;
    CompareRun(RecordRun(program, parities), codes,
               name + " parities, seed " + std::to_string(seed));
    // Whatever arrivals come later, or are not seen.
    RecorderOptions options{seed};
    for (const Pipe& pipe : protocol.pipes) {
      if (seed % 2) options.later.insert(pipe.name);
      if (seed % 3 == 0) options.hidden.insert(pipe.name);
    }
    options.late_looks = true;
    CompareRun(RecordRun(program, options), codes,
               name + " partly seen, seed " + std::to_string(seed));
  }
}

class ShippedProtocols : public testing::TestWithParam<std::string> {};

TEST_P(ShippedProtocols, AreJudgedAsTheyAre) {
  Result<Protocol> protocol = ParseProtocol(ReadFile(GetParam()), GetParam());
  if (protocol) Compare(*protocol, GetParam(), 20);  // else a refusal is what it tests
}

TEST(PipelineObserve, RandomProtocolsAreJudgedAsTheyAre) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::string text = RandomProtocol(seed);
    Result<Protocol> protocol = ParseProtocol(text, "random.pipe");
    ASSERT_TRUE(protocol.has_value()) << protocol.error().Text();
    Compare(*protocol, text, 3);
    if (HasFailure()) return;
  }
}

std::vector<std::string> Protocols() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(SS_SOURCE_DIR "/tests/litmus/pipe")) {
    if (entry.path().extension() == ".pipe") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedProtocols, testing::ValuesIn(Protocols()),
                         [](const auto& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

TEST(PipelineObserve, StrayTailsOfTheShippedKernelsAreFound) {
  for (const char* name :
       {"r28_nonowner_tail_even", "r28_nonowner_tail_two_stages",
        "r28_nonowner_tail_two_stages_even", "r28_acquires_never_commits", "gdn_like_stray_tail"}) {
    const Protocol protocol =
        Parsed(ReadFile(std::string(SS_SOURCE_DIR "/tests/litmus/pipe/") + name + ".pipe"));
    const Program program = Lower(protocol);
    for (uint64_t seed = 1; seed <= 10; ++seed)
      EXPECT_NE(Find(Observed(RecordRun(program, {seed}).log), "pipeline-owner"), nullptr)
          << name << " seed " << seed;
  }
}

TEST(PipelineRecording, AnObjectWhoseArrivalsHaveAllComeLacksNone) {
  const uint64_t word = MakeWord(32, 0, 1);
  EXPECT_EQ(WordPending(word), 0U);
  EXPECT_EQ(WordExpected(word), 32U);
  EXPECT_EQ(WordPending(MakeWord(32, 32, 0)), 32U);
}

TEST(PipelineRecording, MayStopAnywhere) {
  const Protocol protocol = Parsed(Store(2, true));
  const std::string log = RecordRun(Lower(protocol), {3}).log;
  for (size_t size = sizeof(FileHeader); size <= log.size(); size += 40) {
    Result<Recording> recording = ReadRecording(log.substr(0, size), "cut.sslog");
    ASSERT_TRUE(recording.has_value()) << size << ": " << recording.error().Text();
    EXPECT_EQ(Observe(*recording).cut_short, size < log.size());
  }
}

TEST(PipelineRecording, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& bytes) {
    Result<Recording> recording = ReadRecording(bytes, "x.sslog");
    return recording ? std::string("accepted") : recording.error().Text();
  };
  EXPECT_NE(refusal("").find("x.sslog@byte 0: found the end"), std::string::npos);
  EXPECT_NE(refusal(std::string(64, 'x')).find("no recording"), std::string::npos);
  std::string log = LogWriter().End();
  log[8] = 9;
  EXPECT_NE(refusal(log).find("found version 9, expected 2"), std::string::npos);

  LogWriter strange;
  strange.Launch(0, "k", 1, 4);
  strange.Add(0, 7, RecordKind::kArrive, 0);
  EXPECT_NE(refusal(strange.End()).find("a record of launch 0: no such launch, block or warp"),
            std::string::npos);
  LogWriter orphan;
  orphan.Add(0, 0, RecordKind::kArrive, 0);
  EXPECT_NE(refusal(orphan.End()).find("a record of launch 0: no such launch"), std::string::npos);
}

TEST(PipelineRecording, SurvivesAnyByte) {
  const Protocol protocol = Parsed(Store(2, true));
  const std::string log = RecordRun(Lower(protocol), {3, 1}).log;
  for (size_t at = sizeof(FileHeader); at < log.size(); at += 61) {
    std::string broken = log;
    broken[at] = static_cast<char>(~broken[at]);
    Result<Recording> recording = ReadRecording(broken, "broken.sslog");
    if (recording) Observe(*recording);
  }
}

}  // namespace
}  // namespace ss::pipeline
