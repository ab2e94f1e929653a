// What would make ranks agree again, in words: no edge of a program does, so nothing is tried.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/detect/joined.h"

namespace ss {

class Agreement {
 public:
  Agreement(const JoinedRanks& joined, const JoinedComm& comm) : joined_(joined), comm_(comm) {}

  // The operations at one position of two members differ; `permuted`: each comes later on the
  // other.
  std::string OnDifference(const JoinedComm::Member& a, const JoinedComm::Member& b, size_t at,
                           bool permuted) const;
  // Some members issued an operation at `at` and some never.
  std::string OnMissing(size_t at) const;
  // `rank` did nothing that meets the message.
  std::string OnMissingMessage(CallRef call, uint32_t rank) const;
  std::string OnSizes(CallRef sent, CallRef received) const;

 private:
  using Member = JoinedComm::Member;

  const CollectiveCall& Call(const Member& member, size_t at) const {
    return joined_.call(member.calls[at]);
  }
  // Those whose operation at `at` is the model's.
  std::vector<uint32_t> RanksLike(const Member& model, size_t at) const;
  std::string Order(const Member& odd, const Member& model, size_t at) const;
  // "op 12 of rank 1"
  std::string Place(CallRef call) const;

  const JoinedRanks& joined_;
  const JoinedComm& comm_;
};

}  // namespace ss
