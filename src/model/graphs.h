// CUDA graphs as ordinary operations (rule 14): a capture becomes a template, a launch becomes a
// fork of the launching stream into one lane per captured stream, the template's operations, and a
// join. Consecutive launches of one executable graph are ordered.
//
// Everything behind this sees streams, events and kernels only. Rejected: graph nodes inside the
// order engine (a second way to say what streams and events say already).
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/program/op.h"

namespace ss {

constexpr StreamId kGraphLanes = 0x80000001;  // and above: the lanes that launches make

// Of an operation inside a launch: the stream that the graph was launched on, for names and fixes.
// 0 where it does not say (allocations, values in memory).
StreamId LaunchedOn(const Op& op);

class GraphExpander {
 public:
  using Sink = std::function<void(const Op&, const Access*)>;

  // `strings` and `graph_names` name the lanes; strings may grow.
  GraphExpander(StringTable& strings, const std::vector<std::string>& graph_names)
      : strings_(strings), graph_names_(graph_names) {}

  // Passes on what is no part of a graph. `accesses` are needed during the call only.
  void Feed(const Op& op, const Access* accesses, const Sink& sink);

 private:
  struct Step {
    Op op;
    std::vector<Access> accesses;
    bool once = false;  // a block that stays allocated: replays make no new tenant
    bool live = false;  // that block is allocated now
    // Of an allocation: those blocks that stay and have storage in common with this one, which the
    // graph's allocator gave away before it had it back.
    std::vector<size_t> over;
  };
  struct Graph {
    Op begin;
    std::vector<Step> steps;
    std::vector<StreamId> captured;  // in first-seen order; the first is the origin
    std::unordered_map<StreamId, StreamId> lanes;
    std::unordered_map<EventId, EventId> events;  // inside the graph
    std::unordered_map<BufferId, size_t> blocks;  // allocated while capturing -> step
    std::unordered_set<BufferId> live;            // of an earlier form of the graph
    std::unordered_map<OpId, StreamId> ran;       // host functions, and the lanes of their runs
  };

  void Begin(const Op& op);
  bool Capture(const Op& op, const Access* accesses);
  void End();
  bool Joins(const Op& wait) const;
  void Create(const Op& op, const Sink& sink);
  void Destroy(const Op& op, const Sink& sink);
  void Freed(BufferId block);
  void HostAccess(Op op, const Access* accesses, const Sink& sink);
  void Launch(const Op& op, const Sink& sink);
  void MakeLanes(Graph& graph, const Op& launch, const Sink& sink);
  void Link(const Op& launch, StreamId from, StreamId to, const Sink& sink);
  void Replay(Graph& graph, const Op& launch, const Sink& sink);
  void GiveBack(Graph& graph, Step& kept, const Op& launch, const Sink& sink);
  EventId NewEvent() { return next_event_++; }

  StringTable& strings_;
  const std::vector<std::string>& graph_names_;
  std::unordered_map<uint32_t, Graph> graphs_;
  std::unordered_map<StreamId, Op> streams_;  // creation of each stream, for names and contexts
  uint32_t open_ = UINT32_MAX;                // graph that is being captured
  std::unordered_map<BufferId, uint32_t>
      kept_;  // blocks that stay allocated after a launch -> graph
  // Ids of what launches make: far above what front ends give out.
  StreamId next_stream_ = kGraphLanes;
  EventId next_event_ = 0x80000001;
};

}  // namespace ss
