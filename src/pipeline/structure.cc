#include "src/pipeline/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "src/pipeline/room.h"

namespace ss::pipeline {
namespace {

// A turn: a warp waited for one barrier and then arrived on another, with how much between them.
struct Turn {
  uint64_t count = 0, distance = 0;
  double Mean() const {
    return count ? static_cast<double>(distance) / static_cast<double>(count) : 0;
  }
};
using Turns = std::map<std::pair<uint32_t, uint32_t>, Turn>;  // waited for, arrived on

struct WarpDeeds {
  std::set<Place> waits_at;
  std::map<uint32_t, BarrierUse> uses;
  Turns turns;
};

// One warp of one block, read in program order.
struct Reading {
  uint64_t position = 0;
  std::map<uint32_t, uint64_t> waited;   // barrier -> position of the last pass
  std::map<uint32_t, uint64_t> arrived;  // of the last arrival
  std::set<uint32_t> began;              // barriers on which it has waited
  // Failed looks of first waits: parity, by barrier. One may be read long after it looked, when the
  // barrier has gone on; the look that passes behind it is of the same wait, and is read at once.
  std::map<uint32_t, uint32_t> looked;
};

// "warps 0-3, 8"
std::string WarpNames(const std::vector<uint32_t>& warps) {
  std::string text = warps.size() == 1 ? "warp " : "warps ";
  for (size_t i = 0; i < warps.size();) {
    size_t last = i;
    while (last + 1 < warps.size() && warps[last + 1] == warps[last] + 1) ++last;
    if (i) text += ", ";
    text += std::to_string(warps[i]);
    if (last > i) text += fmt::format("-{}", warps[last]);
    i = last + 1;
  }
  return text;
}

class Structure {
 public:
  explicit Structure(const std::vector<const RecordedLaunch*>& launches) : launches_(launches) {}

  SeenKernel Find() {
    kernel_.name = launches_.front()->kernel;
    for (const RecordedLaunch* launch : launches_) Read(*launch);
    for (const auto& [offset, seen] : CountArrivals(launches_)) {
      SeenBarrier& barrier = kernel_.barriers[offset];
      barrier.arrivals = seen.which;
      barrier.expected = seen.expected;
    }
    FindRoles();
    DropUnused();
    FindPairs();
    return std::move(kernel_);
  }

 private:
  void Read(const RecordedLaunch& launch) {
    ++kernel_.launches;
    kernel_.records += launch.records.size();
    kernel_.module = launch.about.module;
    const auto& grid = launch.about.grid;
    kernel_.blocks += uint64_t{grid[0]} * grid[1] * grid[2];
    std::map<WarpKey, Reading> readings;
    std::set<uint32_t> blocks;
    for (const LogRecord& record : launch.records) {
      blocks.insert(record.block);
      Take(launch, record, readings[{record.block, record.warp}]);
    }
    for (const auto& [warp, reading] : readings) {
      for (const auto& [barrier, parity] : reading.looked)
        Begins(warps_[warp.second].uses[barrier], parity);
    }
    kernel_.blocks_watched += blocks.size();
  }

  void Take(const RecordedLaunch& launch, const LogRecord& record, Reading& reading) {
    const uint32_t barrier = KeyOf(launch, record).second;
    const Place place = record.Pc() - launch.about.pc;
    WarpDeeds& warp = warps_[record.warp];
    if (record.word == 0 && (record.Kind() == RecordKind::kTry || IsArrival(record.Kind())))
      ++kernel_.unread;
    switch (record.Kind()) {
      case RecordKind::kInit:
        kernel_.barriers.try_emplace(barrier);
        reading.began.erase(barrier);
        reading.looked.erase(barrier);
        break;
      case RecordKind::kTry:
        Wait(warp, reading, barrier, place, record);
        break;
      case RecordKind::kBulkCopy:
      case RecordKind::kAsyncStore:
        ++warp.uses[barrier].copies;
        kernel_.barriers[barrier].bytes = true;
        break;
      case RecordKind::kAsyncArrive:
        ++warp.uses[barrier].later;
        kernel_.barriers[barrier].bytes = true;
        Arrive(warp, reading, barrier, place);
        break;
      case RecordKind::kBarEnter:
        ++kernel_.named_barriers;
        break;
      case RecordKind::kClusterArrive:
        ++kernel_.cluster_barriers;
        break;
      default:
        if (!IsArrival(record.Kind())) break;
        ++warp.uses[barrier].arrivals;
        Arrive(warp, reading, barrier, place);
    }
  }

  static void Wait(WarpDeeds& warp, Reading& reading, uint32_t barrier, Place place,
                   const LogRecord& record) {
    BarrierUse& use = warp.uses[barrier];
    warp.waits_at.insert(place);
    if (!use.wait) use.wait = place;
    const bool read = record.word != 0;  // else its parity is unknown, too
    if (std::find(use.waits_at.begin(), use.waits_at.end(), place) == use.waits_at.end())
      use.waits_at.push_back(place);
    if (!record.result) {
      ++use.failed;
      if (read && !reading.began.count(barrier)) reading.looked[barrier] = record.data;
      return;
    }
    if (reading.began.insert(barrier).second && read) Begins(use, record.data);
    reading.looked.erase(barrier);
    ++use.waits;
    reading.waited[barrier] = ++reading.position;
  }

  static void Begins(BarrierUse& use, uint32_t parity) {
    (parity & 1 ? use.starts_open : use.starts_closed) = true;
  }

  static void Arrive(WarpDeeds& warp, Reading& reading, uint32_t barrier, Place place) {
    BarrierUse& use = warp.uses[barrier];
    if (!use.arrive) use.arrive = place;
    const uint64_t now = ++reading.position;
    const uint64_t before = reading.arrived[barrier];
    reading.arrived[barrier] = now;
    for (const auto& [waited, at] : reading.waited) {
      if (at < before || waited == barrier)
        continue;  // not since the last arrival: no turn of its own
      Turn& turn = warp.turns[{waited, barrier}];
      ++turn.count;
      turn.distance += now - at;
    }
  }

  // Warps that wait at the same instructions for the same barriers; warps that never wait, by what
  // they arrive on.
  void FindRoles() {
    using Key = std::tuple<std::set<Place>, std::set<uint32_t>, std::set<Place>>;
    std::map<Key, std::vector<uint32_t>> groups;
    for (const auto& [warp, deeds] : warps_) {
      std::set<uint32_t> waited;
      std::set<Place> arrives;
      for (const auto& [barrier, use] : deeds.uses) {
        if (use.waits + use.failed) waited.insert(barrier);
        if (use.arrivals + use.later && deeds.waits_at.empty()) arrives.insert(use.arrive);
      }
      if (deeds.uses.empty()) continue;
      groups[{deeds.waits_at, waited, arrives}].push_back(warp);
    }
    for (const auto& [key, warps] : groups) {
      SeenRole role;
      role.name = WarpNames(warps);
      role.warps = warps;
      for (uint32_t warp : warps) Merge(warps_[warp], role);
      kernel_.roles.push_back(std::move(role));
      Turns turns;
      for (uint32_t warp : warps) {
        for (const auto& [edge, turn] : warps_[warp].turns) {
          turns[edge].count += turn.count;
          turns[edge].distance += turn.distance;
        }
      }
      turns_.push_back(std::move(turns));
    }
    SortRoles();
  }

  // An initialisation that its lane's predicate suppresses is recorded with whatever address was in
  // the register.
  void DropUnused() {
    kernel_.unused = std::erase_if(kernel_.barriers, [this](const auto& entry) {
      return std::none_of(kernel_.roles.begin(), kernel_.roles.end(),
                          [&](const SeenRole& role) { return role.Use(entry.first) != nullptr; });
    });
  }

  static void Merge(const WarpDeeds& warp, SeenRole& role) {
    for (const auto& [barrier, use] : warp.uses) {
      BarrierUse& all = role.uses[barrier];
      all.waits += use.waits;
      all.failed += use.failed;
      all.arrivals += use.arrivals;
      all.later += use.later;
      all.copies += use.copies;
      all.starts_open = all.starts_open || use.starts_open;
      all.starts_closed = all.starts_closed || use.starts_closed;
      if (!all.wait) all.wait = use.wait;
      if (!all.arrive) all.arrive = use.arrive;
      for (Place place : use.waits_at) {
        if (std::find(all.waits_at.begin(), all.waits_at.end(), place) == all.waits_at.end())
          all.waits_at.push_back(place);
      }
    }
  }

  void SortRoles() {
    std::vector<size_t> order(kernel_.roles.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return kernel_.roles[a].warps < kernel_.roles[b].warps; });
    std::vector<SeenRole> roles;
    std::vector<Turns> turns;
    for (size_t i : order) {
      roles.push_back(std::move(kernel_.roles[i]));
      turns.push_back(std::move(turns_[i]));
    }
    kernel_.roles = std::move(roles);
    turns_ = std::move(turns);
  }

  struct Candidate {
    double cost;
    uint32_t apart;
    uint32_t first, second;
    auto Order() const { return std::tie(cost, apart, first, second); }
  };

  // The nearest turn of any role from `waited` to `arrived`; negative = none.
  double Nearest(uint32_t waited, uint32_t arrived, std::vector<uint32_t>& roles) const {
    double best = -1;
    for (uint32_t role = 0; role < turns_.size(); ++role) {
      auto it = turns_[role].find({waited, arrived});
      if (it == turns_[role].end()) continue;
      roles.push_back(role);
      if (best < 0 || it->second.Mean() < best) best = it->second.Mean();
    }
    return best;
  }

  // Of all barriers that could be a pair, the ones whose turns are the shortest.
  void FindPairs() {
    std::vector<Candidate> candidates;
    for (const auto& [first, ignored] : kernel_.barriers) {
      for (const auto& [second, also] : kernel_.barriers) {
        if (first >= second) continue;
        std::vector<uint32_t> there, back;
        const double one = Nearest(first, second, there), other = Nearest(second, first, back);
        if (one < 0 || other < 0 || (there == back && there.size() == 1)) continue;
        candidates.push_back({one + other, second - first, first, second});
      }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.Order() < b.Order(); });
    std::set<uint32_t> taken;
    for (const Candidate& candidate : candidates) {
      if (taken.count(candidate.first) || taken.count(candidate.second)) continue;
      taken.insert({candidate.first, candidate.second});
      kernel_.pairs.push_back(Orient(candidate.first, candidate.second));
    }
    std::sort(kernel_.pairs.begin(), kernel_.pairs.end(),
              [](const SeenPair& a, const SeenPair& b) { return a.full < b.full; });
  }

  // How those who take turns from one barrier to the other begin there.
  struct Start {
    std::vector<uint32_t> roles;
    bool open = false, closed = false;  // with parity 1, with parity 0
    bool OnlyOpen() const { return open && !closed; }
    bool OnlyClosed() const { return closed && !open; }
  };

  Start Begin(uint32_t waited, uint32_t arrived) const {
    Start start;
    for (uint32_t role = 0; role < kernel_.roles.size(); ++role) {
      if (!turns_[role].count({waited, arrived})) continue;
      start.roles.push_back(role);
      const BarrierUse& use = kernel_.roles[role].uses.at(waited);
      start.open = start.open || use.starts_open;
      start.closed = start.closed || use.starts_closed;
    }
    return start;
  }

  // A role that skips the first uses may begin on either side with either parity: where some begin
  // one way and some the other, the other barrier decides.
  SeenPair Orient(uint32_t first, uint32_t second) const {
    const Start one = Begin(first, second), two = Begin(second, first);
    const auto empty = [](const Start& a, const Start& b) {
      return (a.OnlyOpen() && b.closed) || (a.open && b.OnlyClosed());
    };
    const bool bytes1 = kernel_.barriers.at(first).bytes,
               bytes2 = kernel_.barriers.at(second).bytes;
    const bool first_is_empty = bytes1 == bytes2 ? empty(one, two) && !empty(two, one) : bytes2;
    const bool second_is_empty = bytes1 == bytes2 ? empty(two, one) && !empty(one, two) : bytes1;
    SeenPair pair;
    pair.oriented = first_is_empty || second_is_empty;
    pair.full = first_is_empty ? second : first;
    pair.empty = first_is_empty ? first : second;
    pair.producers = first_is_empty ? one.roles : two.roles;
    pair.consumers = first_is_empty ? two.roles : one.roles;
    pair.both_open = one.OnlyOpen() && two.OnlyOpen();
    pair.given_first = (first_is_empty ? one : two).OnlyClosed();
    return pair;
  }

  const std::vector<const RecordedLaunch*>& launches_;
  SeenKernel kernel_;
  std::map<uint32_t, WarpDeeds> warps_;
  std::vector<Turns> turns_;  // a role
};

}  // namespace

SeenKernel FindStructure(const std::vector<const RecordedLaunch*>& launches) {
  return Structure(launches).Find();
}

}  // namespace ss::pipeline
