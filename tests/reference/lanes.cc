#include "tests/reference/lanes.h"

namespace ss::reference {
namespace {

bool Blocking(StreamType type) {
  return type == StreamType::kBlocking || type == StreamType::kPerThread;
}

uint64_t DeviceOf(uint64_t context) { return context & 0xffff; }
uint64_t NumberOf(uint64_t context) { return context >> 16 & 0xffff; }
uint64_t RankOfContext(uint64_t context) { return context >> 32; }

// Rule 4: the legacy default stream and the blocking streams of one context order each other.
bool ImplicitlyOrdered(const Lane& a, const Lane& b) {
  if (a.host_thread || b.host_thread || a.context != b.context) return false;
  return (a.type == StreamType::kLegacy && Blocking(b.type)) ||
         (b.type == StreamType::kLegacy && Blocking(a.type));
}

// Rule 15: `whole` stands for the context that the stream is in, or for the one that includes that.
bool HeldUp(const Lane& stream, const Lane& whole) {
  if (whole.host_thread || whole.type != StreamType::kContext || &stream == &whole) return false;
  if (stream.host_thread || stream.type == StreamType::kGraph) return false;
  return whole.context == stream.context || whole.context == stream.primary;
}

}  // namespace

bool LaneTable::DeclareStream(const Op& op, const std::string& name) {
  bool again = false;
  for (const auto& [id, other] : declared_) again |= other.name == name;
  constexpr uint64_t kNumber = uint64_t{0xffff} << 16;
  const uint64_t primary =
      op.object == 0 ? kNoContext : (op.value & ~kNumber) | uint64_t{op.object - 1} << 16;
  declared_[op.stream] = {static_cast<StreamType>(op.aux), op.value, primary, name};
  return again;
}

void LaneTable::DeclareHost(HostId host, const std::string& name, uint32_t rank) {
  host_names_[host] = name;
  host_ranks_[host] = rank;
}

uint32_t LaneTable::RankOf(HostId host) const {
  auto declared = host_ranks_.find(host);
  return declared == host_ranks_.end() ? 0 : declared->second;
}

void LaneTable::DestroyStream(StreamId stream, size_t at) {
  for (Lane& lane : lanes_) {
    if (!lane.host_thread && lane.stream == stream) lane.destroyed = at;
  }
}

std::string LaneTable::LaneName(const Declared& declared, HostId host) const {
  if (declared.type != StreamType::kPerThread) return declared.name;
  auto named = host_names_.find(host);
  if (named == host_names_.end() || named->second == "main") return declared.name;
  return declared.name + "@" + named->second;
}

LaneId LaneTable::StreamLane(StreamId stream, HostId host) {
  const Declared& declared = declared_[stream];
  const HostId key_host = declared.type == StreamType::kPerThread ? host : HostId{0};
  auto [it, fresh] =
      stream_lanes_.try_emplace({stream, key_host}, static_cast<LaneId>(lanes_.size()));
  if (fresh) {
    Lane lane;
    lane.stream = stream;
    lane.host = key_host;
    lane.type = declared.type;
    lane.context = declared.context;
    lane.primary = declared.primary;
    lane.name = LaneName(declared, key_host);
    lanes_.push_back(lane);
  }
  return it->second;
}

LaneId LaneTable::HostLane(HostId host) {
  auto [it, fresh] = host_lanes_.try_emplace(host, static_cast<LaneId>(lanes_.size()));
  if (fresh) {
    Lane lane;
    lane.host_thread = true;
    lane.host = host;
    auto named = host_names_.find(host);
    lane.name = named == host_names_.end() ? "main" : named->second;
    lanes_.push_back(lane);
  }
  return it->second;
}

Nodes LaneTable::Tail(LaneId lane, size_t at) const {
  const auto& chain = lanes_[lane].chain;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    if (it->op < at) return {it->node};
  }
  return {};
}

Nodes LaneTable::Implicit(LaneId lane, size_t at) const {
  Nodes nodes;
  for (LaneId other = 0; other < lanes_.size(); ++other) {
    const bool before =
        ImplicitlyOrdered(lanes_[lane], lanes_[other]) || HeldUp(lanes_[lane], lanes_[other]);
    if (!before || lanes_[other].destroyed < at) continue;
    for (Node node : Tail(other, at)) nodes.push_back(node);
  }
  return nodes;
}

Nodes LaneTable::Frontier(LaneId lane, size_t at) const {
  Nodes nodes = Tail(lane, at);
  for (Node node : Implicit(lane, at)) nodes.push_back(node);
  return nodes;
}

Nodes LaneTable::DeviceTails(uint64_t device, uint64_t rank, uint64_t context, size_t at) const {
  Nodes nodes;
  for (LaneId lane = 0; lane < lanes_.size(); ++lane) {
    const Lane& stream = lanes_[lane];
    if (stream.type == StreamType::kGraph) continue;  // behind them is the stream of the launch
    if (stream.host_thread || DeviceOf(stream.context) != device ||
        RankOfContext(stream.context) != rank)
      continue;
    const bool own = NumberOf(stream.context) + 1 == context;
    const bool green = stream.primary != kNoContext && NumberOf(stream.primary) + 1 == context;
    if (context != 0 && !own && !green) continue;
    for (Node node : Tail(lane, at)) nodes.push_back(node);
  }
  return nodes;
}

Nodes LaneTable::ContextTails(LaneId whole, size_t at) const {
  const uint64_t context = lanes_[whole].context;
  Nodes nodes = Frontier(whole, at);
  for (LaneId lane = 0; lane < lanes_.size(); ++lane) {
    const Lane& stream = lanes_[lane];
    if (stream.type == StreamType::kGraph) continue;
    if (stream.host_thread || (stream.context != context && stream.primary != context)) continue;
    for (Node node : Tail(lane, at)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace ss::reference
