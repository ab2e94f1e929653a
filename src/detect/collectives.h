// Hazards collective-order and collective-mismatch (rule 24): the operations of one communicator
// must come in the same order on every rank, and agree in kind, count and root. One matching for
// the ranks of a litmus file and for recorded processes.
#pragma once

#include <string>
#include <vector>

#include "src/model/order.h"
#include "src/program/collectives.h"
#include "src/program/finding.h"
#include "src/program/op.h"

namespace ss {

// One collective where a walk placed it, without what ranks learn from each other.
struct PlacedCollective {
  Op op;
  size_t index = 0;
  uint32_t rank = 0;
  LaneId lane = 0;
  uint64_t epoch = 0;
  std::vector<uint32_t> after;  // the last one known to be complete on each lane: positions
};

class CollectiveOrder {
 public:
  void Add(const Op& op, size_t index, const Step& step);
  const std::vector<PlacedCollective>& placed() const { return placed_; }
  std::vector<PlacedCollective> Take() { return std::move(placed_); }
  // Lanes that are still compared with.
  template <typename F>
  void ForEachLane(F f) const {
    for (const auto& [lane, position] : last_) f(lane);
  }

 private:
  std::vector<PlacedCollective> placed_;
  std::vector<std::pair<LaneId, uint32_t>> last_;  // by lane; few: searched linearly
};

// The ranks of a whole program, in the order of their numbers. `accesses` are the program's.
std::vector<RankCalls> CallsOf(const Program& names, const std::vector<Op>& ops,
                               const std::vector<Access>& accesses,
                               const std::vector<PlacedCollective>& placed);
// Tells the operations of one recorded rank where the walk placed them.
void SetOrder(RankCalls& calls, const std::vector<PlacedCollective>& placed);

struct CollectiveOptions {
  // The ranks have called nothing for long: what is not there is not on its way.
  bool stalled = false;
};

struct CollectiveMatch {
  std::vector<Finding> findings;  // one a communicator
  std::vector<std::string> gaps;  // what could not be compared, and why
};

// What findings rest on is exact: kinds, counts and order are arguments of the calls.
CollectiveMatch MatchCollectives(const std::vector<RankCalls>& ranks,
                                 const CollectiveOptions& options = {});

}  // namespace ss
