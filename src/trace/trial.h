// `streamsan run --confirm`: what the watched process is asked to try, and what comes of it. Both
// sides of it include this and nothing else of each other: the one names a call by its stack, the
// other one knows it again.
#pragma once

#include <cstdint>

namespace ss::trace {

// Six hexadecimal numbers with ':' between: TrialPlan's fields in order.
constexpr char kTrialVariable[] = "STREAMSAN_TRIAL";

// A call: the `number`-th one (from 1) that succeeds from the place.
struct TrialCall {
  uint64_t place = 0;
  uint64_t number = 0;
};

struct TrialPlan {
  TrialCall first;       // held back on its stream ...
  TrialCall second;      // ... until this one is complete
  uint64_t by_cpu = 0;   // 1: the second is the CPU's: complete when the call returns
  uint64_t seconds = 0;  // how long at most, before the second comes and again behind it
};

enum class TrialOutcome : uint64_t {
  kNotReached = 0,  // no record: the first call did not come
  kConfirmed = 1,   // the second was complete, and the first had not begun
  kWaited = 2,      // the second came, and was not complete when the time was over
  kNotIssued = 3,   // the second did not come while the first was held
  kCameFirst = 4,   // the second had come before the first
  kInGraph = 5,     // one of them was captured into a graph
  kRefused = 6,     // the driver refused what holds and marks: `result`
  kGone = 7,        // no record: confirmed, and the run as a whole has no such finding
};

// FNV-1a.
class Hash {
 public:
  constexpr void Byte(uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  constexpr void Word(uint64_t word) {
    for (int i = 0; i < 64; i += 8) Byte(static_cast<uint8_t>(word >> i));
  }
  constexpr uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

// Of an image: by its last component, so that a build may be moved.
constexpr uint64_t HashOfFile(const char* path) {
  const char* file = path;
  for (const char* at = path; *at; ++at) {
    if (*at == '/') file = at + 1;
  }
  Hash hash;
  for (; *file; ++file) hash.Byte(static_cast<uint8_t>(*file));
  return hash.value();
}

// Return addresses of a call stack, innermost first: the same in every run of the same build.
class PlaceHash {
 public:
  // `offset` from the image's first mapped byte on; 0, 0 for code of no image.
  constexpr void Add(uint64_t file, uint64_t offset) {
    hash_.Word(file);
    hash_.Word(offset);
  }
  constexpr uint64_t value() const { return hash_.value(); }

 private:
  Hash hash_;
};

}  // namespace ss::trace
