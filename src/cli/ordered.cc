// What ranks learn from each other through NCCL (rule 23): a rank by itself cannot see that another
// one's call, a message there and back, puts two of its operations in order. Ranks with a hazard
// are judged once more with the ranks that they talk to, and what turns out to be ordered is
// withdrawn.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "src/cli/analysed.h"
#include "src/cli/process_analysis.h"

namespace ss {
namespace {

// Of all ranks that talk to each other: what each operation starts after is kept, twice, and that
// is a number for each stream and thread of all of them.
constexpr uint64_t kMaxOrdered = 500'000;
constexpr uint64_t kMaxStarts = 200'000'000;  // 3 GiB

// A finding, the same in a rank's own analysis and in that of all.
using Key = std::tuple<size_t, std::string, StackId, StackId, StackId, std::string, std::string>;

Key KeyOf(size_t member, const Finding& finding, StackId offset) {
  auto moved = [&](StackId stack) { return stack == 0 ? 0 : stack + offset; };
  return {member,
          finding.code,
          moved(finding.first.stack),
          moved(finding.second.stack),
          moved(finding.buffer.alloc_stack),
          finding.first.name,
          finding.second.name};
}

// Ranks that have a communicator in common, as lists of positions, in order.
std::vector<std::vector<size_t>> Talking(const std::vector<Analysed>& inputs) {
  std::map<std::pair<std::string, uint32_t>, size_t> first;
  std::vector<SharingPair> pairs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const CommEnd& end : inputs[i].calls.comms) {
      if (end.identity.empty()) continue;
      auto [at, fresh] = first.try_emplace({end.identity, end.ranks}, i);
      if (!fresh && at->second != i) pairs.push_back({{at->second, 0}, {i, 0}});
    }
  }
  return GroupSharing(pairs, inputs.size());
}

// Why they are not judged together; "" = they can be.
std::string Obstacle(const std::vector<Analysed>& inputs, const std::vector<size_t>& members) {
  uint64_t operations = 0, lanes = 0;
  std::vector<RankCalls> ranks;
  for (size_t member : members) {
    operations += inputs[member].report.stats.operations;
    lanes += inputs[member].report.stats.lanes;
  }
  if (operations > kMaxOrdered) {
    return fmt::format("the ranks have {} operations, more than {}", operations, kMaxOrdered);
  }
  if (operations * lanes > kMaxStarts) {
    return fmt::format("the ranks have {} operations on {} streams and threads, more than fit",
                       operations, lanes);
  }
  for (size_t member : members) ranks.push_back(inputs[member].calls);
  const CollectiveMatch match = MatchCollectives(ranks);
  return match.findings.empty() && match.gaps.empty() ? ""
                                                      : "not all of their calls have a counterpart";
}

struct Ranks {
  std::vector<ProcessTape> tapes;
  std::vector<const std::vector<CommEnd>*> comms;
};

bool Fetch(const std::vector<size_t>& members, const WholeOf& whole_of,
           std::vector<Analysed>& inputs, Ranks* ranks) {
  StackId offset = 0;
  for (size_t member : members) {
    const ProcessAnalysis* whole = KeptWhole(whole_of, member, inputs);
    if (whole == nullptr) return false;
    ranks->tapes.push_back(whole->tape(static_cast<uint32_t>(ranks->tapes.size()), offset));
    offset += HighestStack(inputs[member].stacks);
    ranks->comms.push_back(&inputs[member].calls.comms);
  }
  return true;
}

// What stands when all ranks are seen; nothing where their clocks did not settle.
std::optional<std::set<Key>> Standing(const Ranks& ranks, AnalyseOptions options) {
  options.verify = false;
  options.picture = 0;
  const Report report = AnalyseJoint(JoinPrograms(ranks.tapes, {}, ranks.comms), options);
  if (!report.coverage.complete) return std::nullopt;
  std::set<Key> standing;
  for (const Finding& finding : report.findings) {
    standing.insert(KeyOf(finding.second.rank, finding, 0));
  }
  return standing;
}

void Note(Report& report, std::string note) { report.coverage.notes.push_back(std::move(note)); }

}  // namespace

void WithdrawOrdered(const WholeOf& whole_of, const AnalyseOptions& options,
                     const std::set<size_t>& without, std::vector<Analysed>& inputs) {
  for (const std::vector<size_t>& members : Talking(inputs)) {
    auto hazard = std::find_if(members.begin(), members.end(), [&](size_t member) {
      return !inputs[member].report.findings.empty();
    });
    const bool apart = std::any_of(members.begin(), members.end(),
                                   [&](size_t member) { return without.contains(member); });
    if (hazard == members.end() || apart || !whole_of) continue;
    std::string obstacle = Obstacle(inputs, members);
    Ranks ranks;
    std::optional<std::set<Key>> standing;
    if (obstacle.empty() && !Fetch(members, whole_of, inputs, &ranks)) {
      obstacle = "not all of their operations are kept";
    }
    if (obstacle.empty() && !(standing = Standing(ranks, options))) {
      obstacle = "it has no end";
    }
    if (!obstacle.empty()) {
      Note(inputs[*hazard].report,
           "order by way of other ranks' NCCL calls was not followed: " + obstacle);
      continue;
    }
    for (size_t i = 0; i < members.size(); ++i) {
      Report& report = inputs[members[i]].report;
      const size_t withdrawn = std::erase_if(report.findings, [&](const Finding& finding) {
        return !standing->contains(KeyOf(i, finding, ranks.tapes[i].stacks_from));
      });
      if (withdrawn == 0) continue;
      Note(report,
           fmt::format("hazards withdrawn, as other ranks' NCCL calls put them in order: {}",
                       withdrawn));
    }
  }
}

}  // namespace ss
