#include "src/detect/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/detect/agreement.h"
#include "src/detect/call_text.h"
#include "src/detect/joined.h"

namespace ss {
namespace {

class Matcher {
 public:
  Matcher(const JoinedRanks& joined, const CollectiveOptions& options)
      : joined_(joined), options_(options) {}

  std::vector<Finding> Run() {
    for (const JoinedComm& comm : joined_.comms()) {
      if (!comm.whole) continue;
      CompareMembers(comm);
      for (const auto& [ends, channel] : comm.channels) ComparePair(comm, ends, channel);
    }
    for (const Circle& circle : FindCircles(joined_)) Report(circle);
    return std::move(findings_);
  }

 private:
  using Member = JoinedComm::Member;

  std::string Describe(CallRef ref) const { return CallText(joined_.call(ref)); }
  bool Agree(CallRef a, CallRef b) const { return CallsAgree(joined_.call(a), joined_.call(b)); }

  // What differs is certain, so it is looked for before what is missing.
  void CompareMembers(const JoinedComm& comm) {
    const Member& reference = comm.members.front();
    const Member *longest = &reference, *shortest = &reference;
    for (const Member& member : comm.members) {
      if (Differ(comm, reference, member)) return;
      if (member.calls.size() > longest->calls.size()) longest = &member;
      if (IsShorter(member, *shortest)) shortest = &member;
    }
    if (longest->calls.size() == shortest->calls.size()) return;
    const size_t at = shortest->calls.size();
    Missing(comm, longest->calls[at], shortest->number, true,
            Agreement(joined_, comm).OnMissing(at));
  }

  // Of two that called as much, the one that surely called no more.
  bool IsShorter(const Member& a, const Member& b) const {
    if (a.calls.size() != b.calls.size()) return a.calls.size() < b.calls.size();
    return IsOver(a) && !IsOver(b);
  }
  bool IsOver(const Member& member) const {
    const RankCalls& rank = joined_.ranks()[member.rank];
    return rank.to_end && !rank.comms[member.end].aborted;
  }

  bool Differ(const JoinedComm& comm, const Member& a, const Member& b) {
    const size_t common = std::min(a.calls.size(), b.calls.size());
    size_t i = 0;
    while (i < common && Agree(a.calls[i], b.calls[i])) ++i;
    if (i == common) return false;
    auto later = [&](const Sequence& in, CallRef wanted) {
      return std::any_of(in.begin() + static_cast<ptrdiff_t>(i), in.end(),
                         [&](CallRef call) { return Agree(call, wanted); });
    };
    const bool permuted = later(a.calls, b.calls[i]) && later(b.calls, a.calls[i]);
    Report(permuted ? "collective-order" : "collective-mismatch", comm, a.calls[i], b.calls[i],
           fmt::format("the {}. operation is {} on rank {} and {} on rank {}", i + 1,
                       Describe(a.calls[i]), joined_.RankNumber(a), Describe(b.calls[i]),
                       joined_.RankNumber(b)),
           Agreement(joined_, comm).OnDifference(a, b, i, permuted));
    return true;
  }

  void ComparePair(const JoinedComm& comm, const std::pair<uint32_t, uint32_t>& ends,
                   const JoinedComm::Channel& channel) {
    const Sequence &sends = channel.sends, &receives = channel.receives;
    const size_t common = std::min(sends.size(), receives.size());
    for (size_t i = 0; i < common; ++i) {
      const CollectiveCall &sent = joined_.call(sends[i]), &received = joined_.call(receives[i]);
      if (sent.bytes == received.bytes) continue;
      return Report(
          "collective-mismatch", comm, sends[i], receives[i],
          fmt::format("rank {} sends {} bytes, rank {} receives {}", joined_.RankNumber(sends[i]),
                      sent.bytes, joined_.RankNumber(receives[i]), received.bytes),
          Agreement(joined_, comm).OnSizes(sends[i], receives[i]));
    }
    if (receives.size() > common) MissingMessage(comm, receives[common], ends.first);
    if (sends.size() > common) MissingMessage(comm, sends[common], ends.second);
  }

  void MissingMessage(const JoinedComm& comm, CallRef extra, uint32_t number) {
    const Member* member = comm.Find(number);
    const uint32_t rank = member ? joined_.RankNumber(*member) : number;
    Missing(comm, extra, number, false, Agreement(joined_, comm).OnMissingMessage(extra, rank));
  }

  // `number` called nothing that meets `extra`. That a rank which was ended, or still runs, would
  // never have called it is a guess, unless all have been waiting for long.
  void Missing(const JoinedComm& comm, CallRef extra, uint32_t number, bool collective,
               std::string change) {
    const Member* member = comm.Find(number);
    if (member == nullptr && comm.ranks != 0) return;  // not recorded: said as a gap
    const uint32_t rank = member ? joined_.RankNumber(*member) : number;
    Finding finding = Start("collective-mismatch", comm);
    finding.first = MakeSite(extra);
    finding.second.lane = fmt::format("rank{}", rank);
    finding.second.rank = rank;
    finding.second.name = "nothing";
    if (collective && member && !member->calls.empty()) {
      finding.second = MakeSite(member->calls.back());
      finding.second.name = "nothing after " + finding.second.name;
    }
    finding.root_cause = fmt::format("rank {} issues {} and rank {} has no counterpart",
                                     joined_.RankNumber(extra), Describe(extra), rank);
    if (member && !IsOver(*member)) {
      finding.confidence = options_.stalled ? Confidence::kLikely : Confidence::kPossible;
      finding.root_cause += options_.stalled ? ": no rank has issued any more for long"
                                             : ": it was ended before, or its trace was";
    }
    if (finding.confidence != Confidence::kPossible) finding.change = std::move(change);
    Add(comm, std::move(finding));
  }

  void Report(const char* code, const JoinedComm& comm, CallRef first, CallRef second,
              std::string cause, std::string change, Confidence confidence = Confidence::kCertain) {
    Finding finding = Start(code, comm);
    finding.confidence = confidence;
    finding.first = MakeSite(first);
    finding.second = MakeSite(second);
    finding.root_cause = std::move(cause);
    finding.change = std::move(change);
    Add(comm, std::move(finding));
  }

  void Report(const Circle& circle) {
    std::string others;
    for (uint32_t comm : circle.others) {
      others += (others.empty() ? "" : ", ") + joined_.comms()[comm].name;
    }
    const std::string with = others.empty() ? "each other's messages" : "communicator " + others;
    Report("collective-order", joined_.comms()[circle.comm], circle.first, circle.second,
           "ranks wait in a circle with " + with,
           others.empty()
               ? "put the sends and receives of each rank into one group, or let one of "
                 "them receive first"
               : fmt::format("issue the operations of {} and {} in one order on all ranks",
                             joined_.comms()[circle.comm].name, others),
           circle.point_to_point ? Confidence::kLikely : Confidence::kCertain);
  }

  static Finding Start(const char* code, const JoinedComm& comm) {
    Finding finding;
    finding.code = code;
    finding.buffer.name = comm.name;
    finding.buffer.alloc_stack = comm.stack;
    return finding;
  }

  void Add(const JoinedComm& comm, Finding finding) {
    if (!reported_.insert(comm.name).second) return;  // one a communicator
    finding.edge_from = finding.first.lane;
    finding.edge_to = finding.second.lane;
    finding.evidence.push_back(finding.root_cause);
    findings_.push_back(std::move(finding));
  }

  Site MakeSite(CallRef ref) const {
    const RankCalls& rank = joined_.rank(ref);
    const CollectiveOp& op = joined_.op(ref);
    Site site;
    site.op = op.id;
    site.index = op.index;
    site.kind = OpKind::kCollective;
    site.name = CallName(joined_.call(ref).kind);
    site.label = rank.names[op.label];
    site.lane = rank.names[op.lane_name];
    site.host = rank.names[op.host_name];
    site.rank = joined_.RankNumber(ref);
    site.lane_aliases.push_back(fmt::format("rank{}", site.rank));
    site.stream = op.stream;
    site.host_id = op.host;
    site.access = site.name;
    site.stack = op.stack;
    site.line = op.line;
    return site;
  }

  const JoinedRanks& joined_;
  const CollectiveOptions options_;
  std::set<std::string> reported_;
  std::vector<Finding> findings_;
};

}  // namespace

CollectiveMatch MatchCollectives(const std::vector<RankCalls>& ranks,
                                 const CollectiveOptions& options) {
  JoinedRanks joined(ranks);
  return {Matcher(joined, options).Run(), joined.gaps()};
}

}  // namespace ss
