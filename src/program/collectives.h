// What the ranks of a program asked of their communicators: the plain data that collectives are
// matched on (rules 23 and 24), one RankCalls a process or a rank of a litmus file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/program/op.h"

namespace ss {

inline bool PointToPoint(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
}

// A rank's end of a communicator.
struct CommEnd {
  std::string identity;  // the same on all ranks of it, and nowhere else; "" = not known
  std::string name;      // as the program calls it, "" = it has no name
  uint32_t member = 0;   // which of its ranks this is
  uint32_t ranks = 0;    // how many there are, 0 = not known
  bool aborted = false;  // what follows on the others need not be here
  StackId stack = 0;     // where it was made
};

// An operation on a stream: what one group asks of one communicator.
struct CollectiveOp {
  OpId id = 0;
  size_t index = 0;    // position in the analysis, as in Site
  uint64_t group = 0;  // operations of one group wait for nobody in it; 0 = none
  StreamId stream = 0;
  HostId host = 0;
  uint32_t lane_name = 0, host_name = 0, label = 0;  // positions in RankCalls::names
  StackId stack = 0;
  uint32_t line = 0;  // litmus
  // Operations of this rank that are complete before it starts, on each lane the last one:
  // positions in RankCalls::ops, in RankCalls::after.
  uint32_t after_begin = 0, after_count = 0;
};

struct CollectiveCall {
  uint32_t op = 0;    // position in RankCalls::ops
  uint32_t comm = 0;  // position in RankCalls::comms
  CollectiveKind kind{};
  uint8_t datatype = 0, reduction = 0;  // must match; as the library numbers them
  uint32_t peer = 0;                    // root or peer, a rank of the communicator, + 1; 0 = none
  uint64_t bytes = 0;                   // what a rank contributes
};

struct RankCalls {
  uint32_t rank = 0;
  bool has_rank = false;   // else ranks are told apart by their numbers in the communicator
  bool from_start = true;  // no call is missing before the last one
  bool to_end = true;      // what is not here was not called
  std::vector<CommEnd> comms;
  std::vector<CollectiveOp> ops;  // in the order of issue
  std::vector<CollectiveCall> calls;
  std::vector<uint32_t> after;
  std::vector<std::string> names{""};
};

}  // namespace ss
