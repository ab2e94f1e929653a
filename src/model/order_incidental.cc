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
  // Cumulative: who knows this one knows the thread's earlier ones, so one look a thread is enough.
  auto& edges = incidental_[lane];
  if (!edges.empty()) source.Join(edges.back().source);
  edges.push_back({std::move(source), lane, epoch});
  incidental_lanes_.push_back(lane);
  if (incidental_lanes_.size() > kMaxIncidental) DropOldestIncidental();
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
