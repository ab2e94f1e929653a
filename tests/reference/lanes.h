// Lanes of a program (rule 1) with the chain of nodes that each of them runs through, by position
// in the program, so that "what was queued on it before operation N" is a look-up.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/program/op.h"
#include "tests/reference/graph.h"

namespace ss::reference {

using LaneId = uint32_t;
constexpr LaneId kNoLane = ~LaneId{0};
constexpr uint64_t kNoContext = ~uint64_t{0};

struct Lane {
  bool host_thread = false;
  StreamId stream = 0;  // 0 for a host thread
  HostId host = 0;      // of a host thread, or of a per-thread default stream
  StreamType type = StreamType::kNonBlocking;
  uint64_t context = 0;           // device, context and rank together
  uint64_t primary = kNoContext;  // of a stream in a green context: the context that includes it
  size_t destroyed = ~size_t{0};  // position of the operation that destroyed the stream
  std::string name;
  struct Stamp {
    size_t op = 0;
    Node node = 0;
  };
  std::vector<Stamp> chain;
};

class LaneTable {
 public:
  // True where the name has been another stream's.
  bool DeclareStream(const Op& op, const std::string& name);
  void DeclareHost(HostId host, const std::string& name, uint32_t rank);
  uint32_t RankOf(HostId host) const;
  void DestroyStream(StreamId stream, size_t at);

  // A per-thread default stream is one lane for each host thread that uses it (rule 4).
  LaneId StreamLane(StreamId stream, HostId host);
  LaneId HostLane(HostId host);
  void Append(LaneId lane, size_t op, Node node) { lanes_[lane].chain.push_back({op, node}); }

  // The last node that `lane` went through before operation `at`: none or one.
  Nodes Tail(LaneId lane, size_t at) const;
  // What the next operation on the lane would start after: the tail and rule 4's implicit order.
  Nodes Frontier(LaneId lane, size_t at) const;
  // The part of it that no call on the stream asked for: rules 4 and 15.
  Nodes Implicit(LaneId lane, size_t at) const;
  // Tails of every stream of the device, destroyed ones included (rules 6 and 16); `context`:
  // number of one context + 1, 0 = all.
  Nodes DeviceTails(uint64_t device, uint64_t rank, uint64_t context, size_t at) const;

  // Tails of every stream of the context that `whole` stands for, and of its green contexts.
  Nodes ContextTails(LaneId whole, size_t at) const;

  const std::vector<Lane>& all() const { return lanes_; }
  const Lane& operator[](LaneId lane) const { return lanes_[lane]; }

 private:
  struct Declared {
    StreamType type = StreamType::kNonBlocking;
    uint64_t context = 0;
    uint64_t primary = kNoContext;
    std::string name;
  };
  std::string LaneName(const Declared& declared, HostId host) const;

  std::map<StreamId, Declared> declared_;
  std::map<HostId, std::string> host_names_;
  std::map<HostId, uint32_t> host_ranks_;
  std::map<std::pair<StreamId, HostId>, LaneId> stream_lanes_;
  std::map<HostId, LaneId> host_lanes_;
  std::vector<Lane> lanes_;
};

}  // namespace ss::reference
