#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "src/cli/analysed.h"
#include "src/program/picture.h"

namespace ss {
namespace {

template <typename T>
void Append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void AddUnmodelled(Coverage& to, const Coverage& from) {
  for (const Coverage::Unmodelled& call : from.unmodelled) {
    auto same = [&](const Coverage::Unmodelled& other) { return other.name == call.name; };
    auto at = std::find_if(to.unmodelled.begin(), to.unmodelled.end(), same);
    if (at == to.unmodelled.end()) {
      to.unmodelled.push_back(call);
    } else {
      at->count += call.count;
    }
  }
  std::stable_sort(to.unmodelled.begin(), to.unmodelled.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
}

// Ranks mostly say the same: once is enough.
void AddNotes(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& note : from) {
    if (std::find(to.begin(), to.end(), note) == to.end()) to.push_back(note);
  }
}

void AddCoverage(Coverage& to, const Coverage& from) {
  to.complete = to.complete && from.complete;
  to.late = to.late || from.late;
  to.dropped += from.dropped;
  to.calls += from.calls;
  to.calls_modelled += from.calls_modelled;
  to.launches += from.launches;
  to.launches_resolved += from.launches_resolved;
  to.muted_private += from.muted_private;
  AddUnmodelled(to, from);
  AddNotes(to.notes, from.notes);
}

void AddStats(Stats& to, const Stats& from) {
  to.operations += from.operations;
  to.accesses += from.accesses;
  to.lanes += from.lanes;
  to.seconds += from.seconds;
}

// Pictures are shared; what is changed is a copy.
template <typename Change>
void ChangePictures(Report& report, Change change) {
  for (auto& picture : report.pictures) {
    auto changed = std::make_shared<Picture>(*picture);
    change(*changed);
    picture = std::move(changed);
  }
}

void SetSources(Report& report) {
  ChangePictures(report, [&](Picture& picture) { picture.source = report.program; });
  for (Finding& finding : report.findings) finding.source = report.program;
  for (Advice& advice : report.advice) advice.source = report.program;
}

template <typename F>
void ForEachStack(Analysed& analysed, F f) {
  for (Finding& finding : analysed.report.findings) {
    f(finding.buffer.alloc_stack);
    for (Site* site : {&finding.first, &finding.second, &finding.reuse, &finding.producer}) {
      f(site->stack);
    }
    for (Site& site : finding.timeline) f(site.stack);
    for (Site& site : finding.evidence_sites) f(site.stack);
  }
  ChangePictures(analysed.report, [&](Picture& picture) {
    for (Picture::Operation& op : picture.operations) f(op.stack);
  });
  for (Advice& advice : analysed.report.advice) f(advice.site.stack);
  for (Site& site : analysed.report.running) f(site.stack);
  for (Trail& trail : analysed.report.trails) f(trail.finished.stack), f(trail.next.stack);
  for (CommEnd& end : analysed.calls.comms) f(end.stack);
  for (CollectiveOp& op : analysed.calls.ops) f(op.stack);
}

// The ids of several processes must not meet.
void MoveStacks(Analysed& analysed, StackId offset) {
  for (ProcessStacks::Stack& stack : analysed.stacks.stacks) stack.id += offset;
  ForEachStack(analysed, [&](StackId& stack) {
    if (stack != 0) stack += offset;
  });
}

// In a report of several processes each is a rank: the one that it says, or where none says one,
// its position among them. False: some say one and some do not, or two the same.
bool RankAll(std::vector<Analysed>& inputs) {
  std::set<uint32_t> told;
  size_t telling = 0;
  for (const Analysed& input : inputs) {
    if (input.report.pid == 0) return false;  // a litmus file
    if (!input.calls.has_rank && !input.calls.comms.empty()) return false;
    telling += input.calls.has_rank;
    if (input.calls.has_rank) told.insert(input.calls.rank);
  }
  if (inputs.size() < 2 || telling != told.size()) return false;
  if (telling != 0 && telling != inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t rank = telling != 0 ? inputs[i].calls.rank : static_cast<uint32_t>(i);
    SetRank(inputs[i].report, rank, true);
    ChangePictures(inputs[i].report, [&](Picture& picture) {
      picture.rank = rank;
      for (Picture::Lane& lane : picture.lanes)
        lane.name = fmt::format("rank{} {}", rank, lane.name);
    });
  }
  return true;
}

// Where no process says its rank, which one is which.
std::string WhoIsWho(const std::vector<Analysed>& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += fmt::format("{}rank {} is process {}", i == 0 ? "" : ", ", i, inputs[i].report.pid);
  }
  return text;
}

std::vector<RankCalls> TakeRanks(std::vector<Analysed>& inputs) {
  std::vector<RankCalls> ranks;
  for (Analysed& input : inputs) {
    if (!input.calls.comms.empty()) ranks.push_back(std::move(input.calls));
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankCalls& a, const RankCalls& b) { return a.rank < b.rank; });
  return ranks;
}

Report Merge(std::vector<Analysed>& inputs) {
  Report merged = std::move(inputs.front().report);
  std::vector<std::string> programs{merged.program};
  for (size_t i = 1; i < inputs.size(); ++i) {
    Report& report = inputs[i].report;
    // The ranks of a job are one program.
    if (std::find(programs.begin(), programs.end(), report.program) == programs.end()) {
      programs.push_back(report.program);
      merged.program += " " + report.program;
    }
    Append(merged.findings, report.findings);
    Append(merged.trials, report.trials);
    Append(merged.advice, report.advice);
    Append(merged.running, report.running);
    Append(merged.trails, report.trails);
    Append(merged.pictures, report.pictures);
    AddCoverage(merged.coverage, report.coverage);
    AddStats(merged.stats, report.stats);
  }
  return merged;
}

}  // namespace

void SetRank(Report& report, uint32_t rank, bool among) {
  auto set = [&](Site& site) {
    site.rank = rank;
    site.among_ranks = among;
  };
  for (Finding& finding : report.findings) {
    for (Site* site : {&finding.first, &finding.second, &finding.reuse, &finding.producer}) {
      set(*site);
    }
    for (Site& site : finding.timeline) set(site);
  }
  for (Advice& advice : report.advice) set(advice.site);
  for (Site& site : report.running) set(site);
  for (Trail& trail : report.trails) set(trail.finished), set(trail.next);
}

void AddTo(Symboliser& symbols, ProcessStacks process) {
  symbols.AddProcess();
  for (ModuleMap& module : process.modules) symbols.AddModule(std::move(module));
  for (ProcessStacks::Stack& stack : process.stacks) {
    symbols.AddStack(stack.id, std::move(stack.front), std::move(stack.addresses));
  }
}

void KeepReferenced(Analysed& analysed) {
  std::unordered_map<StackId, StackId> ids;
  ForEachStack(analysed, [&](StackId stack) { ids[stack] = 0; });
  std::vector<ProcessStacks::Stack>& stacks = analysed.stacks.stacks;
  std::erase_if(stacks, [&](const ProcessStacks::Stack& stack) { return !ids.contains(stack.id); });
  StackId last = 0;
  for (ProcessStacks::Stack& stack : stacks) stack.id = ids[stack.id] = ++last;
  ForEachStack(analysed, [&](StackId& stack) { stack = ids[stack]; });
  if (stacks.empty()) analysed.stacks.modules.clear();
}

StackId HighestStack(const ProcessStacks& stacks) {
  StackId highest = 0;
  for (const ProcessStacks::Stack& stack : stacks.stacks) highest = std::max(highest, stack.id);
  return highest;
}

Report Join(std::vector<Analysed> inputs, const JoinOptions& options, Symboliser& symbols) {
  if (inputs.empty()) return {};
  const std::vector<Together> groups = FindSharing(inputs, options.whole_of);
  std::set<size_t> together;
  for (const Together& group : groups) together.insert(group.members.begin(), group.members.end());
  WithdrawOrdered(options.whole_of, options.engine, together, inputs);
  std::vector<StackId> offsets;
  StackId offset = 0;
  for (Analysed& input : inputs) {
    const StackId highest = HighestStack(input.stacks);
    MoveStacks(input, offset);
    offsets.push_back(offset);
    offset += highest;
    AddTo(symbols, std::move(input.stacks));
  }
  if (inputs.size() > 1) {
    for (Analysed& input : inputs) SetSources(input.report);
  }
  const bool ranked = RankAll(inputs);
  const bool numbered = ranked && !inputs.front().calls.has_rank;
  if (numbered && together.size() < inputs.size()) {
    inputs.front().report.coverage.notes.push_back(WhoIsWho(inputs));
  }
  for (const Together& group : groups) JudgeTogether(group, offsets, options, inputs);
  CollectiveMatch match = MatchCollectives(TakeRanks(inputs), options.collectives);
  Report report = Merge(inputs);
  Append(match.findings, report.findings);
  report.findings = std::move(match.findings);
  if (!match.gaps.empty()) report.coverage.complete = false;
  AddNotes(report.coverage.notes, match.gaps);
  return report;
}

}  // namespace ss
