// Orderings that hold only under a condition: incidental synchronisations, edges that a finding
// says are missing.
#include <algorithm>

#include "src/model/order.h"

namespace ss {
namespace {

// Beyond this many incidental synchronisations the oldest go: they can only turn a hazard into
// advice.
constexpr size_t kMaxIncidental = 4096;

}  // namespace

// Twice: with the CPU accesses that were behind it, for whoever takes over all that the thread
// knows (rule 3), and without, for a free, which takes from other threads what they saw of streams
// only (rule 19).
void Order::AddIncidental(Host& host, Clock source) {
  Expand(&source, {}, true);  // closed: what the source knew incidentally is passed on
  if (host.incidental == 0) {
    host.incidental = NewLane(Lane::Kind::kIncidental);
    host.incidental_cpu = NewLane(Lane::Kind::kIncidentalCpu);
  }
  Clock streams;
  RaiseShown(source, &streams);
  AddIncidentalEdge(host, host.incidental_cpu, std::move(source));
  AddIncidentalEdge(host, host.incidental, std::move(streams));
  Changed(host);
}

void Order::AddIncidentalEdge(Host& host, LaneId lane, Clock source) {
  uint64_t epoch = ++lanes_[lane].epoch;
  host.clock.Raise(lane, epoch);
  AddIncidentalEdge(lane, epoch, std::move(source));
}

void Order::AddIncidentalEdge(LaneId lane, uint64_t epoch, Clock source) {
  // Cumulative: who knows this one knows the thread's earlier ones, so one look a thread is enough.
  auto& edges = incidental_[lane];
  if (!edges.empty()) source.Join(edges.back().source);
  edges.push_back({std::move(source), lane, epoch});
  incidental_lanes_.push_back(lane);
  if (incidental_lanes_.size() > kMaxIncidental) DropOldestIncidental();
}

// Rule 11. Where several signals may end a wait, what all of them have behind them is acquired.
// What they have behind them incidentally is asked apart, and acquired as that: one may have waited
// for what another one merely happens to come after. Epochs count in every walk alike.
Clock Order::Awaited(size_t index, Stream& stream) {
  const uint64_t epoch = Count(stream, &stream.awaited);
  if (before_ == nullptr) return {};
  const std::vector<Clock> releasing = before_->Releasing(index);
  last_await_never_ = releasing.empty();
  if (releasing.size() == 0) return {};
  Clock all = releasing[0], incidental = releasing[0];
  if (releasing.size() == 1) return all;
  Expand(&incidental, {}, true);
  for (size_t i = 1; i < releasing.size(); ++i) {
    all = Meet(all, releasing[i]);
    Clock expanded = releasing[i];
    Expand(&expanded, {}, true);
    incidental = Meet(incidental, expanded);
  }
  if (all.Covers(incidental)) return all;
  AddIncidentalEdge(stream.awaited, epoch, std::move(incidental));
  all.Raise(stream.awaited, epoch);
  return all;
}

void Order::DropOldestIncidental() {
  auto oldest = incidental_.find(incidental_lanes_.front());
  incidental_lanes_.pop_front();
  oldest->second.pop_front();
  if (oldest->second.empty()) incidental_.erase(oldest);
}

void Order::AddIncidentalDeviceSync(HostId id, uint32_t device, uint32_t rank) {
  Clock all;
  for (auto& [key, stream] : streams_) {
    if (stream->device != device || stream->rank != rank) continue;
    all.Join(*stream->base);
    all.Raise(stream->lane, stream->epoch);
  }
  AddIncidental(EnsureHost(id), std::move(all));
}

void Order::Expand(Clock* clock, const std::vector<ConditionalEdge>& edges, bool incidental) const {
  auto learn = [&](const ConditionalEdge& edge) {
    if (clock->Get(edge.lane) < edge.epoch || clock->Covers(edge.source)) return false;
    clock->Join(edge.source);
    return true;
  };
  auto latest = [&](LaneId lane, const std::deque<ConditionalEdge>& list) {
    auto known = [](uint64_t epoch, const ConditionalEdge& edge) { return epoch < edge.epoch; };
    auto after = std::upper_bound(list.begin(), list.end(), clock->Get(lane), known);
    return after == list.begin() ? nullptr : &*std::prev(after);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ConditionalEdge& edge : edges) changed |= learn(edge);
    if (!incidental) continue;
    // With those of calls further down, where there was a walk before.
    for (const auto& [lane, list] : before_ != nullptr ? before_->incidental() : incidental_) {
      const ConditionalEdge* edge = latest(lane, list);
      if (edge != nullptr && learn(*edge)) changed = true;
    }
  }
}

}  // namespace ss
