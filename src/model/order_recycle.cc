// Lanes and threads that come and go: memory follows what is alive, not what ever was.
#include <algorithm>

#include "src/model/order.h"

namespace ss {

void Order::MarkConditional(std::vector<bool>* live) const {
  for (const auto& [lane, edges] : incidental_) (*live)[lane] = true;
}

void Order::RecycleLanes(const std::vector<bool>& live) {
  std::vector<LaneId> still;
  for (LaneId lane : retired_lanes_) {
    Stream* stream = lanes_[lane].stream;
    std::vector<LaneId> lanes = stream->beside;
    lanes.push_back(lane);
    for (const auto* staging : {&stream->staging, &stream->in_call}) {
      for (const Stream::Staging& one : *staging) lanes.push_back(one.lane);
    }
    for (LaneId other : {stream->any_time, stream->started, stream->marks, stream->awaited}) {
      if (other != 0) lanes.push_back(other);
    }
    if (std::any_of(lanes.begin(), lanes.end(), [&](LaneId l) { return live[l]; })) {
      still.push_back(lane);
      continue;
    }
    std::erase_if(host_functions_, [&](const HostFunction& f) { return f.stream == stream; });
    next_host_function_ = host_functions_.size();
    if (last_stream_ == stream) last_found_ = 0;
    streams_.erase(StreamKey(stream->id, stream->type == StreamType::kPerThread, stream->thread));
    free_lanes_.insert(free_lanes_.end(), lanes.begin(), lanes.end());
  }
  retired_lanes_ = std::move(still);
}

void Order::ForgetEndedHosts(const std::vector<bool>& live, const std::vector<UserSet*>& buffers) {
  std::vector<bool> ended(hosts_.size(), false);
  for (const auto& host : hosts_) {
    bool counted =
        host && host->incidental != 0 && (live[host->incidental] || live[host->incidental_cpu]);
    if (!host || !host->ended || live[host->lane] || counted) continue;
    ended[host->slot] = true;
    Show(*host);
  }
  for (auto& [key, stream] : streams_) Fold(stream->users, ended);
  for (auto& [id, event] : events_) Fold(event.users, ended);
  for (UserSet* users : buffers) Fold(*users, ended);
  for (auto& host : hosts_) {
    if (!host || !ended[host->slot]) continue;
    free_lanes_.push_back(host->lane);
    if (host->incidental != 0) {
      free_lanes_.push_back(host->incidental);
      free_lanes_.push_back(host->incidental_cpu);
    }
    if (slots_[host->id] == host->slot) slots_[host->id] = kNoSlot;
    --ended_hosts_;
    host.reset();
  }
}

void Order::Fold(UserSet& users, const std::vector<bool>& ended) {
  users.ForEach([&](uint32_t slot) {
    if (!ended[slot]) return;
    if (!users.gone) users.gone = std::make_unique<Clock>();
    users.gone->Join(hosts_[slot]->clock);
    if (slot < 64) users.low &= ~(uint64_t{1} << slot);
  });
  std::erase_if(users.high, [&](uint32_t slot) { return ended[slot]; });
}

}  // namespace ss
