// Knowledge that travels against the order of issue: from a signal to a wait that was queued before
// it (rule 11), and between ranks through a collective (rule 23).
//
// The engine walks the program once, in the order of issue. What a later operation releases to an
// earlier one is not known yet then, so such programs are walked again, with the clocks of the walk
// before, until nothing changes (each walk carries every chain at least one link further; epochs
// are the same in every walk, so clocks may be carried over). Rejected: reordering the operations
// (what a host thread knew when it queued a wait would have to be frozen and carried along).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/model/clock.h"
#include "src/program/op.h"

namespace ss {

struct Stream;

// What both know.
Clock Meet(const Clock& a, const Clock& b);

// An ordering that holds only under a condition (an incidental synchronisation, an edge that a
// finding says is missing): whoever knows `epoch` of `lane` also knows `source`.
struct ConditionalEdge {
  Clock source;
  LaneId lane = 0;
  uint64_t epoch = 0;
  const Stream* into =
      nullptr;  // a missing wait of this stream: all that it starts from then on has it
};

using IncidentalEdges =
    std::unordered_map<LaneId, std::deque<ConditionalEdge>>;  // by thread, growing epochs

// One signal, await or collective as a walk saw it.
struct CrossPoint {
  Op op;
  size_t index = 0;
  uint32_t rank = 0;
  LaneId lane = 0;
  uint64_t epoch = 0;
  Clock start;  // what it starts after, own lane included
};

class CrossClocks {
 public:
  void Add(CrossPoint point) {
    at_[point.index] = points_.size();
    if (point.op.kind == OpKind::kSignal) signals_[FlagOf(point.op)].push_back(points_.size());
    points_.push_back(std::move(point));
  }
  void AddStart(size_t index, Clock start) { starts_[index] = std::move(start); }
  // Of a copy whose source is read out of its stream's order: when that begins.
  void AddSourceStart(size_t index, Clock start) { source_starts_[index] = std::move(start); }

  void SetIncidental(IncidentalEdges edges) { incidental_ = std::move(edges); }

  const std::vector<CrossPoint>& points() const { return points_; }
  const IncidentalEdges& incidental() const { return incidental_; }
  const CrossPoint* Find(size_t index) const;
  // Whether the operation at `index` started after `epoch` of `lane` was complete.
  bool Knew(size_t index, LaneId lane, uint64_t epoch) const;
  bool SourceKnew(size_t index, LaneId lane, uint64_t epoch) const;

  // What the operation at `index` started after; null: not known.
  const Clock* Start(size_t index) const;
  // What each of those had behind it that may be the one to end the await at `index`; none: it
  // never ends.
  std::vector<Clock> Releasing(size_t index) const;
  // What the collective at `index` completes after: the starts of the ranks whose data it receives.
  Clock Received(size_t index) const;
  // The operations of other ranks that the collective at `index` meets.
  std::vector<size_t> Partners(size_t index) const;

  bool SameAs(const CrossClocks& other) const;
  void Match();  // after a walk: who meets whom

 private:
  static uint64_t FlagOf(const Op& op) { return uint64_t{op.object} << 32 | op.aux; }
  bool SameIncidental(const CrossClocks& other) const;

  std::vector<CrossPoint> points_;
  std::unordered_map<size_t, size_t> at_;
  std::unordered_map<uint64_t, std::vector<size_t>> signals_;  // by flag, as positions in points_
  using Starts = std::unordered_map<size_t, Clock>;            // by position of the operation
  static bool Same(const Starts& a, const Starts& b);

  Starts starts_, source_starts_;
  IncidentalEdges incidental_;
  std::unordered_map<size_t, std::vector<size_t>> partners_;  // positions in points_
};

}  // namespace ss
