#include "src/model/cross.h"

#include <algorithm>

#include "src/program/collectives.h"

namespace ss {
namespace {

// Ranks pair up by their n-th operation on a communicator; sends and receives by their n-th between
// a pair.
using Channel = std::tuple<uint32_t, uint32_t, uint32_t, size_t>;  // communicator, from, to, n

bool PointToPoint(const Op& op) { return PointToPoint(static_cast<CollectiveKind>(op.aux)); }

bool Passes(const Op& await, uint64_t value) {
  const bool narrow = (await.flags & kAwaitNarrow) != 0;
  if (await.flags & kAwaitAtLeast) {
    const uint64_t past = value - await.value;
    return narrow ? static_cast<int32_t>(past) >= 0 : static_cast<int64_t>(past) >= 0;
  }
  if (await.flags & kAwaitAnyBit) return (value & await.value) != 0;
  if (await.flags & kAwaitAnyZero) {
    const uint64_t zeros = ~(value | await.value);
    return (narrow ? zeros & UINT32_MAX : zeros) != 0;
  }
  return value == await.value;
}

}  // namespace

Clock Meet(const Clock& a, const Clock& b) {
  Clock both;
  for (LaneId lane = 0; lane < std::min(a.size(), b.size()); ++lane) {
    if (uint64_t epoch = std::min(a.Get(lane), b.Get(lane))) both.Raise(lane, epoch);
  }
  return both;
}

const CrossPoint* CrossClocks::Find(size_t index) const {
  auto found = at_.find(index);
  return found == at_.end() ? nullptr : &points_[found->second];
}

const Clock* CrossClocks::Start(size_t index) const {
  auto found = starts_.find(index);
  return found == starts_.end() ? nullptr : &found->second;
}

bool CrossClocks::Knew(size_t index, LaneId lane, uint64_t epoch) const {
  const Clock* start = Start(index);
  return start != nullptr && start->Get(lane) >= epoch;
}

bool CrossClocks::SourceKnew(size_t index, LaneId lane, uint64_t epoch) const {
  auto found = source_starts_.find(index);
  return found != source_starts_.end() && found->second.Get(lane) >= epoch;
}

// Rule 11. A signal can release the wait unless it comes after it, or another value surely follows
// it before the wait. The flag's initial 0 releases nothing.
std::vector<Clock> CrossClocks::Releasing(size_t index) const {
  const CrossPoint* await = Find(index);
  if (await == nullptr) return {Clock{}};
  auto before = [](const CrossPoint& a, const CrossPoint& b) {
    return (a.lane == b.lane && a.epoch < b.epoch) ||
           (a.lane != b.lane && b.start.Get(a.lane) >= a.epoch);
  };
  std::vector<const CrossPoint*> passing, others;  // `others` all come before the wait
  auto signals = signals_.find(FlagOf(await->op));
  if (signals != signals_.end()) {
    for (size_t at : signals->second) {
      const CrossPoint& signal = points_[at];
      if (Passes(await->op, signal.op.value)) {
        if (!before(*await, signal)) passing.push_back(&signal);
      } else if (before(signal, *await)) {
        others.push_back(&signal);
      }
    }
  }
  std::vector<Clock> releasing;
  for (const CrossPoint* signal : passing) {
    const bool overwritten = before(*signal, *await) &&
                             std::any_of(others.begin(), others.end(), [&](const auto* other) {
                               return before(*signal, *other);
                             });
    if (overwritten) continue;
    Clock& clock = releasing.emplace_back();
    if (signal->op.flags & kNoBarrier) continue;
    clock = signal->start;
    clock.Raise(signal->lane, signal->epoch);
  }
  if (others.empty() && Passes(await->op, 0)) releasing.emplace_back();
  return releasing;
}

void CrossClocks::Match() {
  std::map<Channel, std::vector<size_t>> meeting;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, size_t> next;
  for (size_t i = 0; i < points_.size(); ++i) {
    const CrossPoint& point = points_[i];
    if (point.op.kind != OpKind::kCollective) continue;
    uint32_t peer = static_cast<uint32_t>(point.op.value) - 1;
    bool pair = PointToPoint(point.op);
    bool sends = static_cast<CollectiveKind>(point.op.aux) == CollectiveKind::kSend;
    uint32_t from = pair ? (sends ? point.rank : peer) : UINT32_MAX;
    uint32_t to = pair ? (sends ? peer : point.rank) : UINT32_MAX;
    size_t n = next[{point.op.object, from, to, point.rank}]++;
    meeting[{point.op.object, from, to, n}].push_back(i);
  }
  partners_.clear();
  for (auto& [channel, members] : meeting) {
    for (size_t member : members) partners_[member] = members;
  }
}

std::vector<size_t> CrossClocks::Partners(size_t index) const {
  std::vector<size_t> others;
  auto at = at_.find(index);
  if (at == at_.end()) return others;
  auto found = partners_.find(at->second);
  if (found == partners_.end()) return others;
  for (size_t member : found->second) {
    if (member != at->second) others.push_back(points_[member].index);
  }
  return others;
}

// Rule 23: everyone's data for most; the root's for a broadcast; the sender's for a receive.
Clock CrossClocks::Received(size_t index) const {
  Clock clock;
  const CrossPoint* mine = Find(index);
  if (mine == nullptr) return clock;
  auto kind = static_cast<CollectiveKind>(mine->op.aux);
  uint32_t root = static_cast<uint32_t>(mine->op.value) - 1;
  for (size_t other : Partners(index)) {
    const CrossPoint& theirs = *Find(other);
    if (static_cast<CollectiveKind>(theirs.op.aux) != kind && !PointToPoint(mine->op)) continue;
    bool receives = true;
    bool from_root = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kScatter;
    bool to_root = kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather;
    if (from_root) receives = theirs.rank == root;
    if (to_root) receives = mine->rank == root;
    if (kind == CollectiveKind::kSend) receives = false;
    if (receives) clock.Join(theirs.start);
  }
  return clock;
}

bool CrossClocks::SameIncidental(const CrossClocks& other) const {
  for (const auto& [lane, edges] : incidental_) {
    auto theirs = other.incidental_.find(lane);
    if (theirs == other.incidental_.end() || theirs->second.size() != edges.size()) return false;
    for (size_t i = 0; i < edges.size(); ++i) {
      const Clock &a = edges[i].source, &b = theirs->second[i].source;
      if (!a.Covers(b) || !b.Covers(a)) return false;
    }
  }
  return true;
}

bool CrossClocks::SameAs(const CrossClocks& other) const {
  if (!SameIncidental(other)) return false;
  if (points_.size() != other.points_.size()) return false;
  for (size_t i = 0; i < points_.size(); ++i) {
    const Clock &a = points_[i].start, &b = other.points_[i].start;
    if (!a.Covers(b) || !b.Covers(a)) return false;
  }
  // Also what is no signal itself: a walk judges with the starts of the walk before.
  return Same(starts_, other.starts_) && Same(source_starts_, other.source_starts_);
}

bool CrossClocks::Same(const Starts& a, const Starts& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& one) {
    auto theirs = b.find(one.first);
    return theirs != b.end() && one.second.Covers(theirs->second) &&
           theirs->second.Covers(one.second);
  });
}

}  // namespace ss
