#include "src/pipeline/room.h"

#include <algorithm>

namespace ss::pipeline {
namespace {

constexpr size_t kPhasesKept = 8;
constexpr uint32_t kRankShift = 24;  // above it: which block of the cluster
constexpr uint32_t kOffsetMask = (1U << kRankShift) - 1;

bool TouchesMbarrier(RecordKind kind) {
  return IsArrival(kind) || kind == RecordKind::kTry || kind == RecordKind::kBulkCopy ||
         kind == RecordKind::kAsyncArrive || kind == RecordKind::kAsyncStore;
}

}  // namespace

bool Knowledge::Has(Moment moment) const {
  return moment.time == 0 || (moment.warp < times_.size() && times_[moment.warp] >= moment.time);
}

Moment Knowledge::Tick(uint32_t warp) {
  if (times_.size() <= warp) times_.resize(warp + 1);
  return {warp, ++times_[warp]};
}

void Knowledge::Join(const Knowledge& other) {
  if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
  for (size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  open_ended_ = open_ended_ || other.open_ended_;
}

bool GhostBarrier::IsKnownComplete(uint64_t number, const Knowledge& knowledge) const {
  const uint64_t oldest = phase + 2 - arrivals.size();  // the number of arrivals.front()
  if (number == 0 || number < oldest) return true;      // forgotten: long ago
  if (number > phase + 1 || !arrivals_seen) return false;
  const std::vector<Moment>& taken = arrivals[number - oldest];
  return std::all_of(taken.begin(), taken.end(),
                     [&](const Moment& moment) { return knowledge.Has(moment); });
}

BarrierKey KeyOf(const RecordedLaunch& launch, const LogRecord& record) {
  const uint32_t offset = record.barrier & kOffsetMask, rank = record.barrier >> kRankShift;
  const auto& grid = launch.about.grid;
  const auto& cluster = launch.about.cluster;
  if (launch.ClusterBlocks() == 1 || rank >= launch.ClusterBlocks()) return {record.block, offset};
  const uint32_t x = rank % cluster[0], y = rank / cluster[0] % cluster[1];
  const uint32_t z = rank / cluster[0] / cluster[1];
  return {RoomOf(launch, record.block) + x + grid[0] * (y + grid[1] * z), offset};
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

uint32_t ArrivalCount(const LogRecord& record) {
  return std::max<uint32_t>(record.lanes, 1) * std::max<uint32_t>(record.data, 1);
}

uint64_t NeedFor(uint32_t parity, uint64_t least) {
  return least % 2 != (parity & 1) ? least : least + 1;
}

const LogRecord* Room::Take(const LogRecord& record) {
  GhostWarp& warp = WarpOf(record);
  const RecordKind kind = record.Kind();
  const BarrierKey key = KeyOf(launch_, record);
  const LogRecord* blind = nullptr;
  out_of_turn_.reset();
  if (TouchesMbarrier(kind)) {
    GhostBarrier& barrier = barriers_[key];
    if (barrier.lives == 0) uninitialised_.try_emplace(key, record);
    if (!warp.knows.Has(barrier.init) && !warp.knows.open_ended()) blind = &record;
  }
  if (kind == RecordKind::kInit && barriers_[key].lives == 0) {
    const auto early = uninitialised_.find(key);
    if (early != uninitialised_.end()) blind = &early->second;
  }
  switch (kind) {
    case RecordKind::kInit:
      Init(warp, key);
      break;
    case RecordKind::kInvalidate:
      barriers_.erase(key);
      break;
    case RecordKind::kTry:
      if (record.result) Passed(warp, key, record);
      break;
    case RecordKind::kBulkCopy:
    case RecordKind::kAsyncStore:
      // Whoever waits for the bytes knows what was known when they were asked for.
      barriers_[key].arrived.Join(warp.knows);
      break;
    case RecordKind::kAsyncArrive:
      Arrive(warp, key, record);
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

GhostWarp& Room::WarpOf(const LogRecord& record) {
  const auto [it, fresh] = warps_.try_emplace({record.block, record.warp});
  if (fresh) it->second.number = static_cast<uint32_t>(warps_.size() - 1);
  return it->second;
}

// A barrier that is initialised again is another one.
void Room::Init(GhostWarp& warp, BarrierKey key) {
  GhostBarrier& barrier = barriers_[key];
  const uint32_t lives = barrier.lives + 1;
  barrier = {};
  barrier.lives = lives;
  barrier.init = warp.knows.Tick(warp.number);
  barrier.arrivals.emplace_back();
  for (auto& [other, state] : warps_) state.waits.erase(key), state.took_part.erase(key);
}

// An asynchronous one comes when the warp's copies are done: no sooner than it was issued.
void Room::Arrive(GhostWarp& warp, BarrierKey key, const LogRecord& record) {
  GhostBarrier& barrier = barriers_[key];
  const Moment moment = warp.knows.Tick(warp.number);
  barrier.arrived.Join(warp.knows);
  for (auto& [waited, state] : warp.waits) {
    auto side = sides_.find(waited.second);
    if (side != sides_.end() && side->second.partner == key.second) state.moved = true;
  }
  if (barrier.arrivals.empty()) return;
  Count(barrier, key, record, moment);
  // When an asynchronous one comes is not known.
  if (!IsArrival(record.Kind()) || record.word == 0) return;
  warp.took_part[key] = barrier.phase + 1;
  CheckTurn(barrier, key);
}

void Room::Count(GhostBarrier& barrier, BarrierKey key, const LogRecord& record, Moment moment) {
  const bool later = record.Kind() == RecordKind::kAsyncArrive;
  if (later ? Seen(key).which != Arrivals::kWithAsync : record.word == 0) return;
  barrier.expected =
      !later && WordHasCounts(record.word) ? WordExpected(record.word) : Seen(key).expected;
  // What it will find is not known: it goes into the first phase that has room.
  const bool next =
      later ? barrier.count >= barrier.expected : WordParity(record.word) != barrier.phase % 2;
  if (next) {
    ++barrier.phase;
    barrier.count = 0;
    barrier.arrivals.emplace_back();
    if (barrier.arrivals.size() > kPhasesKept) barrier.arrivals.pop_front();
  }
  barrier.arrivals_seen = true;
  barrier.count += ArrivalCount(record);
  barrier.arrivals.back().push_back(moment);
}

// A slot's use u (from 0 on) is filled when it was given back u times, and given back when it was
// filled u + 1 times. Where bytes complete the full side, an arrival that announces them may come
// before the slot is free, as long as the copies do not.
void Room::CheckTurn(const GhostBarrier& barrier, BarrierKey key) {
  const auto side = sides_.find(key.second);
  if (side == sides_.end() || !side->second.oriented) return;
  const auto other = barriers_.find({key.first, side->second.partner});
  if (other == barriers_.end() || other->second.lives != barrier.lives) return;
  if (Seen(key).which == Arrivals::kNotAll || Seen(other->first).which == Arrivals::kNotAll) return;
  if (other->second.arrivals_seen && other->second.expected == 0) return;
  const uint64_t partner = other->second.MostComplete();
  const uint64_t given_first = side->second.given_first, announced = side->second.bytes;
  const uint64_t another = side->second.staged;  // stage's, at most one phase away
  const bool in_turn = side->second.full
                           ? barrier.phase + given_first <= partner + announced + another
                           : barrier.phase + 1 <= partner + given_first + another;
  if (!in_turn) out_of_turn_ = OutOfTurn{barrier.phase, partner};
}

ArrivalsSeen Room::Seen(BarrierKey key) const {
  const auto it = arrivals_.find(key.second);
  return it == arrivals_.end() ? ArrivalsSeen{} : it->second;
}

// None before the last one that it waited for, a later one when it has had its turn since; not the
// one before its own last arrival; and a full side's waiter begins with the first phase, not with
// the one before.
Room::Least Room::LeastNeed(const GhostWarp& warp, BarrierKey key) const {
  Least least;
  const auto raise = [&least](uint64_t phase, Since since) {
    if (phase > least.phase) least = {phase, since};
  };
  const auto side = sides_.find(key.second);
  if (side != sides_.end() && side->second.full) raise(1, Since::kStart);
  const auto wait = warp.waits.find(key);
  if (wait != warp.waits.end())
    raise(wait->second.need + wait->second.moved, wait->second.moved ? Since::kTurn : Since::kWait);
  const auto own = warp.took_part.find(key);
  if (own != warp.took_part.end()) raise(own->second, Since::kArrival);
  return least;
}

void Room::Passed(GhostWarp& warp, BarrierKey key, const LogRecord& record) {
  GhostBarrier& barrier = barriers_[key];
  const Least least = LeastNeed(warp, key);
  const GhostWait wait{NeedFor(record.data, least.phase), false};
  warp.waits[key] = wait;
  const bool all = Seen(key).which != Arrivals::kNotAll;
  const bool known = all && record.word != 0 && !barrier.arrivals.empty();
  const bool found = known && wait.need >= 2 && !barrier.IsKnownComplete(wait.need - 1, warp.knows);
  const bool ordered = !found || warp.knows.open_ended();
  pass_ = {wait.need, least, known ? barrier.Complete(record.word) : 0,
           ordered,   known, !all || (found && ordered)};
  // A role that skips turns may have meant a later phase of that parity than the least one: it is
  // taken to know all that has arrived in this run.
  warp.knows.Join(barrier.arrived);
  if (!all) warp.knows.LeaveOpen();
}

}  // namespace ss::pipeline
