// Whether a recording has all arrivals of a kernel's barriers. An arrival is logged before it is
// carried out: a phase that went by with fewer of them in the log than it takes was moved by
// arrivals that nobody recorded (an asynchronous one that comes by itself, an instruction that is
// not patched). What is then said of its phases would be guessed.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/pipeline/log.h"

namespace ss::pipeline {

enum class Arrivals : uint8_t {
  kAll,        // every phase had what it takes
  kWithAsync,  // with the asynchronous ones, each counted where it was issued
  kNotAll,     // neither
};

struct ArrivalsSeen {
  Arrivals which = Arrivals::kAll;
  uint32_t expected = 0;  // arrivals a phase, the most seen; 0 = no object was read
};

// By offset in the block's shared memory: the least of all launches and watched blocks.
std::map<uint32_t, ArrivalsSeen> CountArrivals(const std::vector<const RecordedLaunch*>& launches);

}  // namespace ss::pipeline
