// Which waits of a program it needs: each is taken out, alone, and the rest is judged again.
//
// A wait is what orders without doing anything else: a stream's wait for an event, a host thread's
// synchronisation or successful query, record_stream. Copies that happen to block are work and
// stay. Each wait is judged with all the others in place: of two that do the same, both are
// redundant.
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
  WaitVerdict verdict = WaitVerdict::kNotTried;
  // What appears without it, `count` being the further instances alone. No instances, no timeline.
  std::vector<Finding> hazards;
};

struct AblateOptions {
  Confidence min_confidence = Confidence::kLikely;  // of the hazards that count
  // Each wait tried replays the whole program. Where not all can be tried, every place (call stack,
  // line) gets the same number, evenly spread over its instances.
  uint64_t max_replayed = 400'000'000;
  unsigned threads = 0;                                   // 0 = one a processor
  std::function<void(size_t tried, size_t of)> progress;  // by any thread, one at a time
};

struct Ablation {
  std::vector<Wait> waits;  // in program order
  uint64_t hazards = 0;     // with every wait in place, of at least min_confidence
  uint64_t operations = 0;
};

// The waits of a program, none of them tried.
std::vector<Wait> FindWaits(const Tape& tape);
// The edit that takes the wait at `index` out, together with the end of a synchronisation in two
// parts.
Edit WithoutWait(const Tape& tape, size_t index);

Ablation Ablate(const Tape& tape, const CheckOptions& check, const AblateOptions& options);

}  // namespace ss
