// What the detectors ask: frontiers, what a free may know (rule 19).
#include <algorithm>

#include "src/model/order.h"
#include "src/model/rules.h"

namespace ss {

const Event* Order::FindEvent(EventId id) const {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : &found->second;
}

void Order::NextStart(StreamId id, HostId host, Clock* clock) {
  if (Stream* stream = FindStream(id, host)) WithImplicit(*stream, clock);
}

// What a next operation on the stream would wait for, without being one: a synchronisation or a
// question must not move the legacy lane, or later operations on blocking streams would gain an
// edge that the hardware does not have (probed: docs/results, rule 4).
void Order::WithImplicit(const Stream& stream, Clock* clock) const {
  clock->Join(*stream.base);
  clock->Raise(stream.lane, stream.epoch);
  AddImplicit(stream, clock);
}

void Order::AddImplicit(const Stream& stream, Clock* clock) const {
  auto add = [&](const Stream& other) {
    clock->Join(*other.base);
    clock->Raise(other.lane, other.epoch);
  };
  ForEachWait(stream, add);
  const Context& context = *stream.home;
  if (stream.type == StreamType::kLegacy) {
    if (!RuleOn(Rule::kLegacyWaitsBlocking)) return;
    for (const Stream* blocking : context.blocking) add(*blocking);
  } else if (!ApartFromLegacy(stream.type)) {
    if (context.legacy != nullptr && RuleOn(Rule::kBlockingWaitsLegacy)) add(*context.legacy);
  }
}

void Order::AddFrontier(StreamId id, HostId host, Clock* clock) {
  Stream* stream = FindStream(id, host);
  if (stream == nullptr) return;
  clock->Join(*stream->base);
  clock->Raise(stream->lane, stream->epoch);
}

Clock Order::Frontier(LaneId lane) const {
  const Lane& info = lanes_[lane];
  if (info.kind == Lane::Kind::kHost) return hosts_[info.host]->clock;
  Clock clock = *info.stream->base;
  clock.Raise(info.stream->lane, info.stream->epoch);
  return clock;
}

Clock Order::KnownAtFree(HostId id) {
  Clock clock;
  KnownAtFree(id, &clock);
  return clock;
}

void Order::KnownAtFree(HostId id, Clock* clock) {
  AtFree known = LookAtFree(id);
  *clock = *known.own;
  if (known.seen != nullptr) clock->Join(*known.seen);
}

Order::AtFree Order::LookAtFree(HostId id) {
  const Host& caller = EnsureHost(id);
  if (strict_ || !RuleOn(Rule::kSeenByAnyThread)) return {&caller.clock, nullptr};
  if (shown_news_ != news_) {
    for (const auto& host : hosts_) {
      if (host && host->shown_version != host->version) Show(*host);
    }
    shown_news_ = news_;
  }
  return {&caller.clock, &seen_[caller.rank]};
}

bool Order::NextStartKnows(const Stream& stream, LaneId lane, uint64_t epoch) const {
  auto knows = [&](const Stream& other) {
    return (other.lane == lane && other.epoch >= epoch) || other.base->Get(lane) >= epoch;
  };
  bool waits = false;
  ForEachWait(stream, [&](const Stream& whole) { waits = waits || knows(whole); });
  if (waits || knows(stream)) return true;
  const Context& context = *stream.home;
  if (stream.type == StreamType::kLegacy) {
    if (!RuleOn(Rule::kLegacyWaitsBlocking)) return false;
    return std::any_of(context.blocking.begin(), context.blocking.end(),
                       [&](const Stream* blocking) { return knows(*blocking); });
  }
  if (ApartFromLegacy(stream.type)) return false;
  return context.legacy != nullptr && RuleOn(Rule::kBlockingWaitsLegacy) && knows(*context.legacy);
}

bool Order::AllKnow(LaneId lane, uint64_t epoch) const {
  return std::all_of(hosts_.begin(), hosts_.end(), [&](const std::unique_ptr<Host>& host) {
    return !host || host->ended || host->clock.Get(lane) >= epoch;
  });
}

void Order::Show(Host& host) {
  RaiseShown(host.clock, &seen_[host.rank]);
  host.shown_version = host.version;
}

void Order::RaiseShown(const Clock& from, Clock* to) const {
  for (LaneId lane = 1; lane < from.size(); ++lane) {
    if (lanes_[lane].Shown()) to->Raise(lane, from.Get(lane));
  }
}

}  // namespace ss
