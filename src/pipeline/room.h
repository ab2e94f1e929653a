// The blocks that share mbarriers (a block, or a cluster) of one launch, replayed in the order of
// the log. An arrival is logged before it is carried out, a pass after it: the phases counted here
// are at least those that were complete when a wait looked.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/pipeline/arrivals.h"
#include "src/pipeline/log.h"

namespace ss::pipeline {

using BarrierKey = std::pair<uint32_t, uint32_t>;  // block, offset in its shared memory
using WarpKey = std::pair<uint32_t, uint32_t>;     // block, warp

// An event of a warp: its number among the room's warps, and how many events it had had.
struct Moment {
  uint32_t warp = 0, time = 0;
};

// What a warp knows to have happened, by what it did and by those whom it waited for: a vector
// clock.
class Knowledge {
 public:
  bool Has(Moment moment) const;
  Moment Tick(uint32_t warp);  // an event of its own
  void Join(const Knowledge& other);

  // It has waited for arrivals that were not seen: it may know of anything.
  bool open_ended() const { return open_ended_; }
  void LeaveOpen() { open_ended_ = true; }

 private:
  std::vector<uint32_t> times_;
  bool open_ended_ = false;
};

// The phase that arrivals go into is counted by the parity that each of them found: all arrivals of
// a phase are logged before anyone can find the next one.
struct GhostBarrier {
  uint32_t lives = 0;     // how often it was initialised
  bool any = false;       // anything but an init was seen
  uint32_t expected = 0;  // arrivals a phase
  uint64_t phase = 0;     // of the last arrival
  bool arrivals_seen = false;
  uint64_t count = 0;  // of `phase`, so far
  Moment init;
  Knowledge arrived;                         // what those who arrived knew
  std::deque<std::vector<Moment>> arrivals;  // of the last phases up to `phase`

  // No more phases than these are complete: whoever arrives is logged before.
  uint64_t MostComplete() const { return phase + (expected != 0 && count >= expected); }
  // How many phases are complete where the object reads so.
  uint64_t Complete(uint64_t word) const { return phase + (WordParity(word) != phase % 2); }
  // Whether all that phase `number` (from 1 on) took is known there.
  bool IsKnownComplete(uint64_t number, const Knowledge& knowledge) const;
};

struct GhostWait {
  uint64_t need = 0;   // phases that the last wait stood for
  bool moved = false;  // since then the warp has arrived on the partner
};

struct GhostWarp {
  uint32_t number = 0;
  Knowledge knows;
  std::map<BarrierKey, GhostWait> waits;
  std::map<BarrierKey, uint64_t>
      took_part;  // the last phase (from 1 on) with an arrival of its own
  bool exited = false;
};

// The barrier that a record speaks of.
BarrierKey KeyOf(const RecordedLaunch& launch, const LogRecord& record);

// First block of a block's cluster: names the room.
uint32_t RoomOf(const RecordedLaunch& launch, uint32_t block);

bool IsArrival(RecordKind kind);

// Of all its lanes; also of one that is asynchronous.
uint32_t ArrivalCount(const LogRecord& record);

// Least phase from `least` on that parity `parity` waits for.
uint64_t NeedFor(uint32_t parity, uint64_t least);

// What a barrier of a pair is to its partner.
struct PairSide {
  uint32_t partner = 0;  // its offset: a turn's arrival is on it
  bool oriented = false;
  bool full = false;         // of an oriented pair
  bool given_first = false;  // SeenPair
  bool bytes = false;        // copies complete on the full side
  // One of several stages: which full and which empty side are one slot's cannot be told for
  // certain where a stage is given back after the next one was waited for.
  bool staged = false;
};

class Room {
 public:
  // What says that a wait cannot mean an earlier phase.
  enum class Since { kNothing, kWait, kTurn, kArrival, kStart };
  struct Least {
    uint64_t phase = 0;
    Since since = Since::kNothing;
  };
  struct Pass {
    uint64_t need = 0;
    Least least;            // than which `need` is not less
    uint64_t phases = 0;    // at most so many were complete
    bool ordered = false;   // whatever the schedule, the phase before `need` was
    bool known = false;     // the object was read, and all arrivals were seen
    bool withheld = false;  // whether it was early cannot be told: arrivals were not seen
  };

  // An arrival on one side of a pair before the other side was done with the slot.
  struct OutOfTurn {
    uint64_t own = 0;      // phases that were complete where it arrived
    uint64_t partner = 0;  // at most so many were on the other side
  };

  // `sides`: by offset.
  Room(const RecordedLaunch& launch, const std::map<uint32_t, PairSide>& sides,
       const std::map<uint32_t, ArrivalsSeen>& arrivals)
      : launch_(launch), sides_(sides), arrivals_(arrivals) {}

  // Takes the record. Returns one whose warp touched a barrier of whose initialisation it cannot
  // know: this one, or where this one initialises it an earlier one. Null: none.
  const LogRecord* Take(const LogRecord& record);
  // Of a wait that passed, after Take.
  const Pass& pass() const { return pass_; }
  // Of an arrival, after Take.
  const std::optional<OutOfTurn>& out_of_turn() const { return out_of_turn_; }

  // The first phase that the warp's next wait there can mean, by what it has done.
  Least LeastNeed(const GhostWarp& warp, BarrierKey key) const;

  const std::map<BarrierKey, GhostBarrier>& barriers() const { return barriers_; }
  const std::map<WarpKey, GhostWarp>& warps() const { return warps_; }

 private:
  GhostWarp& WarpOf(const LogRecord& record);
  void Init(GhostWarp& warp, BarrierKey key);
  void Arrive(GhostWarp& warp, BarrierKey key, const LogRecord& record);
  void Count(GhostBarrier& barrier, BarrierKey key, const LogRecord& record, Moment moment);
  ArrivalsSeen Seen(BarrierKey key) const;
  void CheckTurn(const GhostBarrier& barrier, BarrierKey key);
  void Passed(GhostWarp& warp, BarrierKey key, const LogRecord& record);

  const RecordedLaunch& launch_;
  const std::map<uint32_t, PairSide>& sides_;
  const std::map<uint32_t, ArrivalsSeen>& arrivals_;
  std::map<BarrierKey, GhostBarrier> barriers_;
  std::map<WarpKey, GhostWarp> warps_;
  std::map<BarrierKey, LogRecord> uninitialised_;  // the first that touched it
  std::map<BarrierKey, Knowledge> named_;          // by block and index
  Knowledge cluster_;
  Pass pass_;
  std::optional<OutOfTurn> out_of_turn_;
};

}  // namespace ss::pipeline
