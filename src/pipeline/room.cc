#include "src/pipeline/room.h"

#include <algorithm>

namespace ss::pipeline {
namespace {

constexpr uint32_t kOffsetMask = 0xff'ffff;  // the shared memory window is 16 MiB

bool TouchesMbarrier(RecordKind kind) {
  return IsArrival(kind) || kind == RecordKind::kWait || kind == RecordKind::kTry ||
         kind == RecordKind::kBulkCopy || kind == RecordKind::kAsyncArrive ||
         kind == RecordKind::kAsyncStore;
}

}  // namespace

void Knowledge::Add(uint32_t item) {
  if (words_.size() <= item / 64) words_.resize(item / 64 + 1);
  words_[item / 64] |= uint64_t{1} << item % 64;
}

void Knowledge::Join(const Knowledge& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

bool Knowledge::Has(uint32_t item) const {
  return item / 64 < words_.size() && (words_[item / 64] >> item % 64 & 1) != 0;
}

BarrierKey KeyOf(const RecordedLaunch&, const LogRecord& record) {
  return {record.block, static_cast<uint32_t>(record.barrier) & kOffsetMask};
}

uint32_t RoomOf(const RecordedLaunch& launch, uint32_t block) {
  const auto& grid = launch.about.grid;
  const auto& cluster = launch.about.cluster;
  const uint32_t x = block % grid[0], y = block / grid[0] % grid[1], z = block / grid[0] / grid[1];
  const uint32_t x0 = x - x % cluster[0], y0 = y - y % cluster[1], z0 = z - z % cluster[2];
  return x0 + grid[0] * (y0 + grid[1] * z0);
}

bool IsArrival(RecordKind kind) {
  return kind >= RecordKind::kArrive && kind <= RecordKind::kArriveDropNoComplete;
}

uint32_t ArrivalsOf(const LogRecord& record) { return record.lanes * std::max(record.data, 1U); }

uint64_t NeedFor(uint32_t parity, uint64_t least) {
  return least % 2 != (parity & 1) ? least : least + 1;
}

bool Room::Take(const LogRecord& record) {
  GhostWarp& warp = warps_[{record.block, record.warp}];
  const RecordKind kind = record.Kind();
  const BarrierKey key = KeyOf(launch_, record);
  bool blind = false;
  if (TouchesMbarrier(kind)) {
    const GhostBarrier& barrier = barriers_[key];
    blind = barrier.init != UINT32_MAX && !warp.knows.Has(barrier.init);
  }
  switch (kind) {
    case RecordKind::kInit:
      Init(warp, key, record.data);
      break;
    case RecordKind::kInvalidate:
      barriers_.erase(key);
      break;
    case RecordKind::kTry:
      if (record.result) Passed(warp, key, record.data);
      break;
    case RecordKind::kBarEnter:
      named_[{record.block, static_cast<uint32_t>(record.barrier)}].Join(warp.knows);
      break;
    case RecordKind::kBarLeave:
      warp.knows.Join(named_[{record.block, static_cast<uint32_t>(record.barrier)}]);
      break;
    case RecordKind::kClusterArrive:
      cluster_.Join(warp.knows);
      break;
    case RecordKind::kClusterWait:
      warp.knows.Join(cluster_);
      break;
    case RecordKind::kExit:
      warp.exited = true;
      break;
    default:
      if (IsArrival(kind)) Arrive(warp, key, record);
  }
  return blind;
}

void Room::Init(GhostWarp& warp, BarrierKey key, uint32_t count) {
  GhostBarrier& barrier = barriers_[key];
  barrier = {};
  barrier.expected = count;
  barrier.pending = count;
  barrier.init = inits_++;
  warp.knows.Add(barrier.init);
}

void Room::Arrive(GhostWarp& warp, BarrierKey key, const LogRecord& record) {
  GhostBarrier& barrier = barriers_[key];
  barrier.arrived.Join(warp.knows);
  for (auto& [waited, state] : warp.waits) {
    auto partner = partners_.find(waited.second);
    if (partner != partners_.end() && partner->second == key.second) state.moved = true;
  }
  if (!barrier.Known()) return;
  const int64_t count = ArrivalsOf(record);
  barrier.pending -= count;
  const bool drops = record.Kind() == RecordKind::kArriveDrop ||
                     record.Kind() == RecordKind::kArriveDropNoComplete;
  if (drops)
    barrier.expected -= static_cast<uint32_t>(std::min<int64_t>(count, barrier.expected - 1));
  while (barrier.pending <= 0 && barrier.expected > 0) {
    ++barrier.phases;
    barrier.pending += barrier.expected;
  }
}

void Room::Passed(GhostWarp& warp, BarrierKey key, uint32_t parity) {
  GhostBarrier& barrier = barriers_[key];
  warp.knows.Join(barrier.arrived);
  GhostWait& wait = warp.waits[key];
  const uint64_t least = wait.any ? wait.need + (wait.moved ? 1 : 0) : 0;
  wait = {true, NeedFor(parity, least), false};
  pass_ = {wait.need, barrier.phases, barrier.Known()};
}

}  // namespace ss::pipeline
