// Seed -> program: a third as generated (mostly racy), a half mended until the reference sees
// nothing, the rest mended in part.
#pragma once

#include "tests/random/text.h"

namespace ss::random {

Lines ProgramOf(uint64_t seed);

}  // namespace ss::random
