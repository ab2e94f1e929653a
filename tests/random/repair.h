// Makes racy programs clean the way a person would: where the reference sees a hazard, the missing
// wait, synchronisation, hand-over or record_stream is written in front of the second operation.
#pragma once

#include "tests/random/rng.h"
#include "tests/random/text.h"

namespace ss::random {

// At most `rounds` times; stops when nothing is left to repair or the program would leave `least`
// to `most` lines. One
// round mends every hazard seen, so a program with few rounds keeps some.
Lines Repair(Lines lines, int rounds, size_t least, size_t most, Rng* rng);

}  // namespace ss::random
