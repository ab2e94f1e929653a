// Communicators put together from their ranks' ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/program/collectives.h"

namespace ss {

struct CallRef {
  uint32_t rank = 0;  // position among the ranks
  uint32_t call = 0;  // in RankCalls::calls
};
using Sequence = std::vector<CallRef>;

struct JoinedComm {
  struct Member {
    uint32_t number = 0;  // in the communicator
    uint32_t rank = 0;    // position among the ranks
    uint32_t end = 0;     // in RankCalls::comms
    Sequence calls;       // all but sends and receives
  };
  struct Channel {
    Sequence sends, receives;
  };
  std::string name;
  StackId stack = 0;
  uint32_t ranks = 0;           // as its ranks say; 0 = who names it is in it
  std::vector<Member> members;  // by number
  std::map<std::pair<uint32_t, uint32_t>, Channel> channels;  // by sender and receiver, as numbers
  bool whole = true;  // nothing is missing before or between the calls

  const Member* Find(uint32_t number) const;
};

class JoinedRanks {
 public:
  explicit JoinedRanks(const std::vector<RankCalls>& ranks);

  // In the order in which the ranks, in their order, made them.
  const std::vector<JoinedComm>& comms() const { return comms_; }
  const std::vector<std::string>& gaps() const { return gaps_; }

  const RankCalls& rank(CallRef ref) const { return ranks_[ref.rank]; }
  const CollectiveCall& call(CallRef ref) const { return ranks_[ref.rank].calls[ref.call]; }
  const CollectiveOp& op(CallRef ref) const { return rank(ref).ops[call(ref).op]; }
  // As reports number it.
  uint32_t RankNumber(const JoinedComm::Member& member) const;
  uint32_t RankNumber(CallRef ref) const;
  const std::vector<RankCalls>& ranks() const { return ranks_; }

 private:
  void AddEnds();
  void Name(JoinedComm& comm);
  void CheckWhole(JoinedComm& comm);
  void AddCalls();

  const std::vector<RankCalls>& ranks_;
  std::vector<JoinedComm> comms_;
  std::vector<std::vector<uint32_t>> comm_of_;  // by rank and end; UINT32_MAX = none
  std::vector<std::string> gaps_;
};

// Two operations of which each waits for the other.
struct Circle {
  uint32_t comm = 0;
  CallRef first, second;         // of one operation, two ranks' calls
  std::vector<uint32_t> others;  // communicators
  bool point_to_point = false;   // small messages may get through all the same
};
std::vector<Circle> FindCircles(const JoinedRanks& joined);

}  // namespace ss
