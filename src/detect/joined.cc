#include "src/detect/joined.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// "0-3,8": the numbers are sorted.
std::string Ranges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

const JoinedComm::Member* JoinedComm::Find(uint32_t number) const {
  auto at = std::lower_bound(members.begin(), members.end(), number,
                             [](const Member& member, uint32_t n) { return member.number < n; });
  return at != members.end() && at->number == number ? &*at : nullptr;
}

JoinedRanks::JoinedRanks(const std::vector<RankCalls>& ranks) : ranks_(ranks) {
  AddEnds();
  for (JoinedComm& comm : comms_) {
    std::sort(comm.members.begin(), comm.members.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    Name(comm);
    CheckWhole(comm);
  }
  AddCalls();
}

// Ends that do not say who they are stand alone, and so do those of different sizes.
void JoinedRanks::AddEnds() {
  std::map<std::pair<std::string, uint32_t>, uint32_t> by_identity;
  comm_of_.resize(ranks_.size());
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::vector<CommEnd>& ends = ranks_[rank].comms;
    comm_of_[rank].resize(ends.size(), kNone);
    for (uint32_t i = 0; i < ends.size(); ++i) {
      uint32_t comm = static_cast<uint32_t>(comms_.size());
      if (!ends[i].identity.empty()) {
        comm = by_identity.try_emplace({ends[i].identity, ends[i].ranks}, comm).first->second;
      }
      if (comm == comms_.size()) comms_.emplace_back();
      comms_[comm].members.push_back({ends[i].member, rank, i, {}});
      comm_of_[rank][i] = comm;
    }
  }
}

uint32_t JoinedRanks::RankNumber(const JoinedComm::Member& member) const {
  const RankCalls& rank = ranks_[member.rank];
  return rank.has_rank ? rank.rank : member.number;
}

uint32_t JoinedRanks::RankNumber(CallRef ref) const {
  const RankCalls& its = rank(ref);
  return its.has_rank ? its.rank : its.comms[call(ref).comm].member;
}

void JoinedRanks::Name(JoinedComm& comm) {
  const JoinedComm::Member& first = comm.members.front();
  const CommEnd& end = ranks_[first.rank].comms[first.end];
  comm.stack = end.stack;
  comm.ranks = end.ranks;
  comm.name = end.name;
  if (!comm.name.empty()) return;
  std::vector<uint32_t> numbers;
  for (const JoinedComm::Member& member : comm.members) numbers.push_back(RankNumber(member));
  std::sort(numbers.begin(), numbers.end());
  comm.name = fmt::format("comm#{} (ranks {})", &comm - comms_.data(), Ranges(numbers));
}

void JoinedRanks::CheckWhole(JoinedComm& comm) {
  for (size_t i = 0; i < comm.members.size(); ++i) {
    const JoinedComm::Member& member = comm.members[i];
    comm.whole = comm.whole && ranks_[member.rank].from_start;
    if (i && member.number == comm.members[i - 1].number) comm.whole = false;
  }
  if (!comm.whole) {
    gaps_.push_back(fmt::format(
        "{}: some of what its ranks called is missing, so their calls were not compared",
        comm.name));
  } else if (comm.ranks > comm.members.size()) {
    gaps_.push_back(
        fmt::format("{}: {} of its {} ranks are here; what the others called is not known",
                    comm.name, comm.members.size(), comm.ranks));
  }
}

void JoinedRanks::AddCalls() {
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankCalls& its = ranks_[rank];
    // Of a communicator with two ends in one process, each end is a member.
    std::vector<JoinedComm::Member*> members(its.comms.size(), nullptr);
    for (uint32_t end = 0; end < its.comms.size(); ++end) {
      for (JoinedComm::Member& member : comms_[comm_of_[rank][end]].members) {
        if (member.rank == rank && member.end == end) members[end] = &member;
      }
    }
    for (uint32_t i = 0; i < its.calls.size(); ++i) {
      const CollectiveCall& call = its.calls[i];
      JoinedComm& comm = comms_[comm_of_[rank][call.comm]];
      JoinedComm::Member& member = *members[call.comm];
      if (!PointToPoint(call.kind)) {
        member.calls.push_back({rank, i});
        continue;
      }
      const uint32_t peer = call.peer - 1;
      const bool sends = call.kind == CollectiveKind::kSend;
      auto key = sends ? std::pair{member.number, peer} : std::pair{peer, member.number};
      JoinedComm::Channel& channel = comm.channels[key];
      (sends ? channel.sends : channel.receives).push_back({rank, i});
    }
  }
}

}  // namespace ss
