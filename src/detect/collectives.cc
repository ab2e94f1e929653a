#include "src/detect/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/detect/joined.h"

namespace ss {
namespace {

const char* KindName(CollectiveKind kind) {
  static const char* kNames[] = {"allreduce", "allgather", "reducescatter", "alltoall",
                                 "broadcast", "barrier",   "send",          "recv",
                                 "reduce",    "gather",    "scatter"};
  const auto at = static_cast<size_t>(kind);
  return at < std::size(kNames) ? kNames[at] : "collective";
}

// As NCCL numbers them, + 1.
std::string DatatypeName(uint8_t datatype) {
  static const char* kNames[] = {"int8", "uint8", "int32",  "uint32",   "int64", "uint64",
                                 "half", "float", "double", "bfloat16", "e4m3",  "e5m2"};
  if (datatype == 0) return "";
  return datatype <= std::size(kNames) ? kNames[datatype - 1]
                                       : fmt::format("type {}", datatype - 1);
}
std::string ReductionName(uint8_t reduction) {
  static const char* kNames[] = {"sum", "product", "max", "min", "average"};
  if (reduction == 0) return "";
  return reduction <= std::size(kNames) ? kNames[reduction - 1]
                                        : fmt::format("reduction {}", reduction - 1);
}

// What must agree on all ranks of an operation.
auto Shape(const CollectiveCall& call) {
  return std::tuple{call.kind, call.peer, call.bytes, call.datatype, call.reduction};
}

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

  std::string Describe(CallRef ref) const {
    const CollectiveCall& call = joined_.call(ref);
    std::string text = KindName(call.kind);
    if (call.bytes != 0) text += fmt::format(" of {} bytes", call.bytes);
    for (const std::string& detail : {DatatypeName(call.datatype), ReductionName(call.reduction)}) {
      if (!detail.empty()) text += ", " + detail;
    }
    const char* partner = PointToPoint(call.kind) ? "peer" : "root";
    if (call.peer != 0) text += fmt::format(", {} {}", partner, call.peer - 1);
    return text;
  }
  bool Agree(CallRef a, CallRef b) const {
    return Shape(joined_.call(a)) == Shape(joined_.call(b));
  }

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
    Missing(comm, longest->calls[shortest->calls.size()], shortest->number, true);
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
                       joined_.RankNumber(b)));
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
                      sent.bytes, joined_.RankNumber(receives[i]), received.bytes));
    }
    if (receives.size() > common) Missing(comm, receives[common], ends.first, false);
    if (sends.size() > common) Missing(comm, sends[common], ends.second, false);
  }

  // `number` called nothing that meets `extra`. That a rank which was ended, or still runs, would
  // never have called it is a guess, unless all have been waiting for long.
  void Missing(const JoinedComm& comm, CallRef extra, uint32_t number, bool collective) {
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
    Add(comm, std::move(finding));
  }

  void Report(const char* code, const JoinedComm& comm, CallRef first, CallRef second,
              std::string cause, Confidence confidence = Confidence::kCertain) {
    Finding finding = Start(code, comm);
    finding.confidence = confidence;
    finding.first = MakeSite(first);
    finding.second = MakeSite(second);
    finding.root_cause = std::move(cause);
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
    site.name = KindName(joined_.call(ref).kind);
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
