// Processes that share memory or events (rule 8) are judged once more, as one program: what comes
// of that takes the place of what each was found to do by itself.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "src/cli/analysed.h"
#include "src/cli/process_analysis.h"
#include "src/program/picture.h"

namespace ss {
namespace {

// Of all processes of a group. Their operations are in memory twice meanwhile.
constexpr uint64_t kMaxTogether = 8'000'000;
constexpr int64_t kRanks = (int64_t{1} << 15) - 1;  // that addresses can tell apart

constexpr char kUnknownPart[] =
    "memory and events that are shared with other processes, whose part is not known: ";

using Handle = std::pair<bool, std::string>;  // of an event; its bytes

uint64_t OperationsOf(const std::vector<Analysed>& inputs, const std::vector<size_t>& group) {
  uint64_t sum = 0;
  for (size_t member : group) sum += inputs[member].report.stats.operations;
  return sum;
}

std::string Pids(const std::vector<Analysed>& inputs, const std::vector<size_t>& group) {
  std::string text;
  for (size_t i = 0; i < group.size(); ++i) {
    text += i == 0 ? "" : i + 1 == group.size() ? " and " : ", ";
    text += std::to_string(inputs[group[i]].report.pid);
  }
  return text;
}

void TellUnknown(Analysed& input, const std::set<Handle>& known) {
  uint64_t things = 0, waits = 0;
  for (const SharedThing& thing : input.shared) {
    if (known.contains({thing.event, thing.handle})) continue;
    ++things;
    waits += thing.waits;
  }
  Coverage& coverage = input.report.coverage;
  if (things != 0) {
    coverage.complete = false;
    coverage.notes.push_back(kUnknownPart + std::to_string(things));
  }
  if (waits != 0) {
    coverage.notes.push_back(fmt::format(
        "waits for events of other processes, which are taken to order nothing: {}", waits));
  }
}

std::string WithoutNumbers(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

std::vector<SharingPair> Among(const std::vector<SharingPair>& pairs,
                               const std::vector<size_t>& group) {
  std::vector<SharingPair> own;
  auto place = [&](size_t process) {
    return static_cast<size_t>(std::find(group.begin(), group.end(), process) - group.begin());
  };
  for (SharingPair pair : pairs) {
    pair.given.process = place(pair.given.process);
    pair.opened.process = place(pair.opened.process);
    if (pair.given.process < group.size()) own.push_back(pair);
  }
  return own;
}

// The ranks that the processes say, where all do and differ; else their positions among the inputs,
// as in the rest of the report.
std::vector<uint32_t> RanksOf(const Together& group) {
  std::vector<uint32_t> ranks, numbers;
  for (size_t i = 0; i < group.members.size(); ++i) {
    const int64_t rank = group.wholes[i]->process().rank;
    if (rank >= 0 && rank < kRanks) ranks.push_back(static_cast<uint32_t>(rank));
    numbers.push_back(static_cast<uint32_t>(group.members[i]));
  }
  const bool told = std::set<uint32_t>(ranks.begin(), ranks.end()).size() == numbers.size();
  return told ? ranks : numbers;
}

// Kernels of two processes may wait for each other through memory (rule 22a): one behind the first
// operation and one before the second may put these in order. What they wait for is not known.
void DoubtAcrossKernels(const Program& program, Report& report) {
  std::vector<const Op*> polling;
  for (const Op& op : program.ops) {
    if (op.kind == OpKind::kKernel && (op.flags & kPolling) != 0) polling.push_back(&op);
  }
  uint64_t doubted = 0;
  for (Finding& finding : report.findings) {
    if (finding.first.rank == finding.second.rank) continue;
    if (finding.confidence == Confidence::kPossible) continue;
    const bool behind = std::ranges::any_of(polling, [&](const Op* op) {
      return op->stream == finding.first.stream && op->id > finding.first.op;
    });
    const bool before = std::ranges::any_of(polling, [&](const Op* op) {
      return op->stream == finding.second.stream && op->id < finding.second.op;
    });
    if (!behind || !before) continue;
    finding.confidence = Confidence::kPossible;
    ++doubted;
  }
  if (doubted == 0) return;
  report.coverage.notes.push_back(fmt::format(
      "hazards between processes that are `possible` only, as kernels that wait for each other "
      "through memory may put them in order: {}",
      doubted));
}

// Everything but a trace that was cut short in between can be judged together.
bool Fetch(Together& group, std::vector<Analysed>& inputs, const WholeOf& whole_of) {
  for (size_t member : group.members) {
    const ProcessAnalysis* whole = KeptWhole(whole_of, member, inputs);
    if (whole == nullptr) return false;
    group.wholes.push_back(whole);
  }
  return true;
}

}  // namespace

std::vector<Together> FindSharing(std::vector<Analysed>& inputs, const WholeOf& whole_of) {
  std::vector<const std::vector<SharedThing>*> shared;
  for (const Analysed& input : inputs) shared.push_back(&input.shared);
  const std::vector<SharingPair> pairs = MatchShared(shared);
  std::vector<Together> groups;
  std::set<size_t> together;
  std::set<Handle> known;
  for (const std::vector<size_t>& members : GroupSharing(pairs, inputs.size())) {
    if (!whole_of) break;
    Together group{members, {}, Among(pairs, members)};
    const uint64_t operations = OperationsOf(inputs, members);
    const bool fits = operations <= kMaxTogether;
    if (!fits || !Fetch(group, inputs, whole_of)) {
      Coverage& coverage = inputs[members.front()].report.coverage;
      coverage.complete = false;
      coverage.notes.push_back(
          fmt::format("processes {} share memory, and were judged apart: {}", Pids(inputs, members),
                      fits ? "not all of their operations are kept"
                           : fmt::format("{} operations, more than {}", operations, kMaxTogether)));
      continue;
    }
    for (const SharingPair& pair : group.pairs) {
      const SharedThing& thing = inputs[members[pair.given.process]].shared[pair.given.thing];
      known.insert({thing.event, thing.handle});
    }
    groups.push_back(std::move(group));
  }
  for (Analysed& input : inputs) TellUnknown(input, known);
  return groups;
}

bool LacksProcesses(const Coverage& coverage) {
  return std::any_of(coverage.notes.begin(), coverage.notes.end(),
                     [](const std::string& note) { return note.starts_with(kUnknownPart); });
}

void JudgeTogether(const Together& group, const std::vector<StackId>& stacks_from,
                   const JoinOptions& options, std::vector<Analysed>& inputs) {
  const std::vector<uint32_t> ranks = RanksOf(group);
  std::vector<ProcessTape> tapes;
  std::string who, source;
  for (size_t i = 0; i < group.members.size(); ++i) {
    const size_t member = group.members[i];
    tapes.push_back(group.wholes[i]->tape(ranks[i], stacks_from[member]));
    Report& report = inputs[member].report;
    who += fmt::format("{}rank {} is process {}", i == 0 ? "" : ", ", ranks[i], report.pid);
    if (i == 0 || report.program != inputs[group.members[0]].report.program) {
      source += (i == 0 ? "" : " and ") + report.program;
    }
    report.findings.clear();
    report.advice.clear();
    report.pictures.clear();
  }
  Program program = JoinPrograms(tapes, group.pairs);
  program.source = source;
  const bool all = group.members.size() == inputs.size();
  Report joint = AnalyseJoint(program, options.engine, all ? options.then : nullptr);
  DoubtAcrossKernels(program, joint);
  for (Finding& finding : joint.findings) finding.source = source;
  for (Advice& advice : joint.advice) {
    advice.source = source;
    advice.site.among_ranks = true;
  }
  Report& report = inputs[group.members.front()].report;
  report.findings = std::move(joint.findings);
  report.advice = std::move(joint.advice);
  for (const auto& picture : joint.pictures) {
    Picture drawn = *picture;
    drawn.source = source;
    report.pictures.push_back(std::make_shared<Picture>(std::move(drawn)));
  }
  Coverage& coverage = report.coverage;
  coverage.notes.push_back("processes that share memory or events, judged as one program: " + who);
  coverage.complete = coverage.complete && joint.coverage.complete;
  for (std::string& note : joint.coverage.notes) {
    // What is said of them together needs not be said of each.
    for (size_t member : group.members) {
      std::erase_if(inputs[member].report.coverage.notes, [&](const std::string& other) {
        return WithoutNumbers(other) == WithoutNumbers(note);
      });
    }
    coverage.notes.push_back(std::move(note));
  }
}

}  // namespace ss
