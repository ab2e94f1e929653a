// Which waits of a program it needs: each place is taken out, each wait alone, and as many as can
// go at once; and the rest is judged again.
//
// A wait is what orders without doing anything else: a stream's wait for an event, a host thread's
// synchronisation or successful query, record_stream. Copies that happen to block are work and
// stay. Each wait is judged with all the others in place: of two that do the same, both are
// redundant, and their places are named as redundant one by one only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/explain/replay.h"
#include "src/program/finding.h"

namespace ss {

enum class WaitVerdict : uint8_t {
  kLoadBearing,  // without it there are hazards that were not there
  kRedundant,    // without it nothing that was seen changes
  kNotTried,     // beyond AblateOptions::max_replayed
};

const char* Name(WaitVerdict verdict);

struct Wait {
  size_t index = 0;  // position in the tape
  OpId op = 0;
  OpKind kind{};
  std::string text;  // "main waits for compute"
  std::string host;  // issuing thread
  StackId stack = 0;
  uint32_t line = 0;
  size_t place = 0;  // in Ablation::places
  WaitVerdict verdict = WaitVerdict::kNotTried;
  // What appears without it, `count` being the further instances alone. No instances, no timeline.
  std::vector<Finding> hazards;
};

// The waits of one call stack or litmus line.
struct WaitPlace {
  std::vector<size_t> waits;                     // in Ablation::waits
  WaitVerdict verdict = WaitVerdict::kNotTried;  // all of them taken out at once
  std::vector<Finding> hazards;                  // what appears then, as in Wait
  // Redundant as it is, but not without these as well (in Ablation::places).
  std::vector<size_t> not_without;
  // Of redundant ones, what they cost. Operations on the critical path with and without them, 0 =
  // not worked out;
  // blocks that record_stream keeps from being used again, and their bytes.
  uint64_t path_before = 0, path_after = 0, delay = 0;
  uint64_t held_blocks = 0, held_bytes = 0;
  uint64_t of_owner = 0;  // record_streams that name the block's owner: they protect nothing
};

struct AblateOptions {
  Confidence min_confidence = Confidence::kLikely;  // of the hazards that count
  // Each try replays the whole program. This many operations for places, as many again for the
  // smallest set, and for single waits.
  uint64_t max_replayed = 25'000'000;
  unsigned threads = 0;  // 0 = one a processor
  std::function<void(size_t settled, size_t of)> progress;
};

struct Ablation {
  std::vector<Wait> waits;        // in program order
  std::vector<WaitPlace> places;  // in order of their first waits
  // Places that keep everything ordered that is ordered now: the load-bearing ones and what had to
  // stay of the others.
  std::vector<size_t> minimal;
  bool minimal_whole = true;  // false: more might go, the budget was used up
  uint64_t hazards = 0;       // with every wait in place, of at least min_confidence
  uint64_t operations = 0;
};

// The waits of a program, none of them tried.
std::vector<Wait> FindWaits(const Tape& tape);
// Adds to `edit` what takes the wait at `index` out, together with the end of a synchronisation in
// two parts.
void TakeOut(const Tape& tape, size_t index, Edit* edit);
Edit WithoutWait(const Tape& tape, size_t index);

Ablation Ablate(const Tape& tape, const CheckOptions& check, const AblateOptions& options);

}  // namespace ss
