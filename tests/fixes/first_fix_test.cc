// The first fix that is offered for each hazard of every racy public bug: put in together, the case
// is clean, by the engine and by the brute-force reference. What has no fix is listed here by name,
// and says in words what to change.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/explain/analyse.h"
#include "src/litmus/litmus.h"
#include "tests/cli/process.h"
#include "tests/reference/reference.h"

namespace ss {
namespace {

namespace fs = std::filesystem;

// No edge makes these right: see docs/results/2026-11-30-explain.md.
const std::set<std::string> kNoEdgeHelps = {
    "APEX-HALO",   // a wait between the two would keep the second flag from ever being set
    "DS-ROLL",     // collective-mismatch
    "FI-3247",     // collective-mismatch
    "MEG-2218",    // collective-order
    "VLLM-54269",  // its host-race has one, the collective-mismatch that follows has not
};

std::vector<fs::path> Racy() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(SS_SOURCE_DIR "/tests/litmus/corpus")) {
    if (entry.path().extension() == ".litmus") cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

// What a report of an edited program says at the default threshold; collectives aside, which no
// edge puts right.
struct Verdict {
  size_t hazards = 0, left = 0;
  bool said = true;  // of all ranks' disagreements that are left: what to change
  bool by_reference = false;
  size_t left_by_reference = 0;
};

void Apply(Edit edit, Program& program) {
  const Tape tape{&program, &program.ops, &program.accesses, false};
  std::vector<Op> ops;
  Sort(&edit);
  ForEachEdited(tape, edit, [&](const Op& op, const Access*) { ops.push_back(op); });
  program.ops = std::move(ops);
}

bool InReference(const LitmusFile& file) {
  return std::all_of(file.needs.begin(), file.needs.end(),
                     [](const auto& need) { return reference::Models(need.rule); });
}

Verdict Try(LitmusFile& file) {
  Program& program = file.program;
  Analysis analysis(program, {}, program.ops.size() * 64);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  EdgeRequest all;
  all.kind = EdgeRequest::Kind::kFirstFixes;
  Result<WhatIf> result = analysis.Try({all}, Confidence::kLikely);
  EXPECT_TRUE(result.has_value());
  Verdict verdict;
  if (!result) return verdict;
  verdict.hazards = result->gone.size() + result->stay.size();
  verdict.left = result->stay.size() + result->fresh.size();
  for (const auto* left : {&result->stay, &result->fresh}) {
    for (const Finding& finding : *left) {
      if (finding.code.starts_with("collective-")) verdict.said &= !finding.change.empty();
    }
  }
  verdict.by_reference = InReference(file);
  if (!verdict.by_reference) return verdict;
  Apply(result->edit, program);
  for (const auto& hazard : reference::Judge(program).hazards) {
    verdict.left_by_reference += !hazard.absorbed;
  }
  return verdict;
}

TEST(FirstFix, MakesEveryRacyPublicBugClean) {
  size_t racy = 0, by_reference = 0;
  std::set<std::string> unfixed;
  for (const fs::path& path : Racy()) {
    const std::string name = path.stem();
    auto file = ParseLitmus(ReadFile(path), path.filename());
    if (!file) continue;  // one that has to be refused
    const Verdict verdict = Try(*file);
    if (verdict.hazards == 0) continue;
    ++racy;
    if (verdict.left != 0) {
      unfixed.insert(name);
      EXPECT_TRUE(verdict.said) << name;
      continue;
    }
    EXPECT_EQ(verdict.left_by_reference, 0u) << name;
    by_reference += verdict.by_reference;
  }
  EXPECT_EQ(unfixed, kNoEdgeHelps);
  EXPECT_GT(racy, 60u);
  EXPECT_GT(by_reference, 40u);
}

}  // namespace
}  // namespace ss
