// Order against that of issue: signals and waits for them (rule 11), collectives of several ranks
// (rule 23). Edges into the ends of operations that are there already.
#include <algorithm>
#include <tuple>

#include "tests/reference/timeline.h"

namespace ss::reference {
namespace {

constexpr int kMaxRounds = 32;

}  // namespace

void Timeline::Cross(size_t i) {
  Enqueue(i, true);
  cross_.push_back(i);
}

// Who takes part with the n-th operation on a communicator, or with the n-th message of a pair,
// completes after the start of everybody whose data it gets.
void Timeline::MeetRanks() {
  using Meeting = std::tuple<uint32_t, int64_t, int64_t, size_t>;  // communicator, from, to, n
  std::map<Meeting, std::vector<size_t>> meetings;
  std::map<std::tuple<uint32_t, int64_t, int64_t, int64_t>, size_t> posted;
  auto rank = [&](size_t i) { return int64_t{lanes_.RankOf(op(i).host)}; };
  auto kind = [&](size_t i) { return static_cast<CollectiveKind>(op(i).aux); };
  for (size_t i : cross_) {
    if (op(i).kind != OpKind::kCollective) continue;
    const int64_t other = static_cast<int64_t>(op(i).value) - 1;
    int64_t from = -1, to = -1;
    if (kind(i) == CollectiveKind::kSend) from = rank(i), to = other;
    if (kind(i) == CollectiveKind::kRecv) from = other, to = rank(i);
    const size_t n = posted[{op(i).object, from, to, rank(i)}]++;
    meetings[{op(i).object, from, to, n}].push_back(i);
  }
  for (const auto& [which, members] : meetings) {
    for (size_t mine : members) {
      for (size_t theirs : members) {
        const bool message = kind(mine) == CollectiveKind::kRecv;
        if (mine == theirs || kind(mine) == CollectiveKind::kSend) continue;
        if (!message && kind(theirs) != kind(mine)) continue;
        const bool root_alone = kind(mine) == CollectiveKind::kBroadcast;
        if (root_alone && rank(theirs) != static_cast<int64_t>(op(mine).value) - 1) continue;
        graph_.Connect(nodes_[theirs].start, nodes_[mine].done);
        Note(message ? "23 receive" : root_alone ? "23 broadcast" : "23 collective");
      }
    }
  }
}

bool Timeline::Passes(size_t await, uint64_t value) const { return op(await).value == value; }

void Timeline::FindStarts() {
  starts_.clear();
  for (size_t i : cross_) starts_.emplace(i, graph_.Ancestors({nodes_[i].start}, {}));
}

// A signal may be the one that ends the wait unless it comes after it, or is surely overwritten
// with another value before it; so may the flag's initial 0. What all of them have behind them is
// over when the wait ends.
Timeline::Gain Timeline::Released(size_t await) {
  std::vector<size_t> signals, releasing;
  for (size_t i : cross_) {
    const bool same = op(i).kind == OpKind::kSignal && op(i).object == op(await).object;
    if (same) signals.push_back(i);
  }
  bool initial = Passes(await, 0), empty = false, behind = false;
  for (size_t signal : signals) {
    if (Earlier(signal, await) && !Passes(await, op(signal).value)) initial = false;
    if (!Passes(await, op(signal).value)) continue;
    if (Earlier(await, signal)) {
      behind |= StreamLane(signal) != StreamLane(await);
      continue;
    }
    const bool gone = std::any_of(signals.begin(), signals.end(), [&](size_t other) {
      return !Passes(await, op(other).value) && Earlier(signal, other) && Earlier(other, await);
    });
    if (gone) continue;
    releasing.push_back(signal);
    empty |= (op(signal).flags & kNoBarrier) != 0;
  }
  if (releasing.empty() && !initial) {
    never_.insert(await);
    behind_itself_ |= behind;
  }
  if (releasing.empty() || initial || empty) return {};
  Gain gain;
  if (releasing.size() == 1) return {{nodes_[releasing[0]].done}, {}};
  std::vector<NodeSet> real, any;
  for (size_t signal : releasing) {
    real.push_back(graph_.Ancestors({nodes_[signal].done}, {}));
    any.push_back(graph_.Ancestors({nodes_[signal].done}, {nullptr, true}));
  }
  for (Node node = 0; node < graph_.size(); ++node) {
    auto has = [&](const NodeSet& all) { return all.Has(node); };
    if (std::all_of(real.begin(), real.end(), has)) {
      gain.real.push_back(node);
    } else if (std::all_of(any.begin(), any.end(), has)) {
      gain.incidental.push_back(node);
    }
  }
  return gain;
}

// Which signal comes before which wait depends on the order that signals make: again and again,
// from none of it on, until nothing changes.
void Timeline::SettleCross() {
  std::map<size_t, Gain> gained;
  std::map<size_t, size_t> own;  // edges into the end of a wait without signals
  for (size_t i : cross_) {
    if (op(i).kind == OpKind::kAwait) own[i] = graph_.Incoming(nodes_[i].done), gained[i] = {};
  }
  if (cross_.empty()) return;
  for (int round = 0; round < kMaxRounds; ++round) {
    FindStarts();
    never_.clear();
    behind_itself_ = false;
    std::map<size_t, Gain> now;
    for (const auto& [await, edges] : own) now[await] = Released(await);
    if (now == gained) {
      // What comes before itself never runs.
      for (size_t i : cross_) settled_ = settled_ && !Earlier(i, i);
      settled_ = settled_ && !behind_itself_;
      for (const auto& [await, gain] : gained) {
        Note(gain.real.empty() ? "11 nothing acquired" : "11 signal acquired");
      }
      return;
    }
    for (const auto& [await, gain] : now) {
      graph_.TakeBack(nodes_[await].done, own[await]);
      for (Node node : gain.real) graph_.Connect(node, nodes_[await].done);
      for (Node node : gain.incidental) {
        graph_.Connect(node, nodes_[await].done, EdgeKind::kIncidental);
      }
    }
    gained = std::move(now);
  }
  settled_ = false;
}

}  // namespace ss::reference
