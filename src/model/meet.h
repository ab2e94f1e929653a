// Do two accesses have a byte in common, where one or both leave gaps (src/program/shape.h)?
#pragma once

#include <cstdint>

#include "src/program/shape.h"

namespace ss {

struct Touched {
  uint64_t begin = 0, end = 0;
  const Shape* shape = nullptr;  // rows from `begin` on, cut at `end`; null: all of the range
};

enum class Meeting : uint8_t {
  kApart,
  kMeet,
  kUnknown  // rows of two pitches, and more of them than are looked at
};

// Within [from, until). The two may be given in either order.
Meeting Meet(const Touched& a, const Touched& b, uint64_t from, uint64_t until);

// Every byte of `inner` is one of `outer`. May say no of rows that do lie within rows of another
// pitch, where there are many.
bool Covers(const Touched& outer, const Touched& inner);

}  // namespace ss
