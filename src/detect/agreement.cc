#include "src/detect/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/detect/call_text.h"

namespace ss {
namespace {

constexpr size_t kNamedRanks = 8;

std::string RanksText(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < ranks.size() && i < kNamedRanks; ++i) {
    const bool last = i + 1 == ranks.size();
    text += fmt::format("{} {}", i == 0 ? "" : last ? " and" : ",", ranks[i]);
  }
  if (ranks.size() > kNamedRanks) text += fmt::format(" and {} more", ranks.size() - kNamedRanks);
  return text;
}

}  // namespace

std::string Agreement::Place(CallRef call) const {
  return fmt::format("op {} of rank {}", joined_.op(call).id, joined_.RankNumber(call));
}

std::vector<uint32_t> Agreement::RanksLike(const Member& model, size_t at) const {
  std::vector<uint32_t> ranks;
  for (const Member& member : comm_.members) {
    if (at < member.calls.size() && CallsAgree(Call(member, at), Call(model, at)))
      ranks.push_back(joined_.RankNumber(member));
  }
  return ranks;
}

std::string Agreement::OnDifference(const Member& a, const Member& b, size_t at,
                                    bool permuted) const {
  const std::vector<uint32_t> like_a = RanksLike(a, at), like_b = RanksLike(b, at);
  const bool tie = like_a.size() == like_b.size(), a_is_odd = like_a.size() < like_b.size();
  const Member &odd = a_is_odd ? a : b, &model = a_is_odd ? b : a;
  const std::string few = RanksText(a_is_odd ? like_a : like_b),
                    many = RanksText(a_is_odd ? like_b : like_a);
  if (permuted) {
    return fmt::format("on {}, issue {}, as on {}{}", few, Order(odd, model, at), many,
                       tie ? "; or the other way round on " + many : "");
  }
  const std::string wanted = CallText(Call(model, at)), found = CallText(Call(odd, at));
  if (tie) {
    return fmt::format("issue {} ({}) or {} ({}) on all ranks alike", wanted,
                       Place(model.calls[at]), found, Place(odd.calls[at]));
  }
  return fmt::format("on {}, issue {} as on {}, and not {} ({})", few, wanted, many, found,
                     Place(odd.calls[at]));
}

// "allreduce (op 16 of rank 1) before allgather (op 15 of rank 1)"
std::string Agreement::Order(const Member& odd, const Member& model, size_t at) const {
  const CollectiveCall& wanted = Call(model, at);
  size_t later = at;
  while (later < odd.calls.size() && !CallsAgree(Call(odd, later), wanted)) ++later;
  return fmt::format("{} ({}) before {} ({})", CallText(wanted), Place(odd.calls[later]),
                     CallText(Call(odd, at)), Place(odd.calls[at]));
}

std::string Agreement::OnMissing(size_t at) const {
  std::vector<uint32_t> callers, others;
  CallRef call;
  for (const Member& member : comm_.members) {
    const bool calls = at < member.calls.size();
    if (calls && callers.empty()) call = member.calls[at];
    (calls ? callers : others).push_back(joined_.RankNumber(member));
  }
  std::string text =
      fmt::format("issue {} ({}) on {} as well, or not on {}", CallText(joined_.call(call)),
                  Place(call), RanksText(others), RanksText(callers));
  if (callers.size() > 1)
    text +=
        fmt::format("; if it concerns {} alone, on a communicator of theirs", RanksText(callers));
  return text;
}

std::string Agreement::OnMissingMessage(CallRef call, uint32_t rank) const {
  const bool sends = joined_.call(call).kind == CollectiveKind::kSend;
  return fmt::format("{} it on rank {}, or do not {} it ({})", sends ? "receive" : "send", rank,
                     sends ? "send" : "receive", Place(call));
}

std::string Agreement::OnSizes(CallRef sent, CallRef received) const {
  return fmt::format("one size for both: {} sends {} bytes, {} receives {}", Place(sent),
                     joined_.call(sent).bytes, Place(received), joined_.call(received).bytes);
}

}  // namespace ss
