// Delta debugging by lines: the smallest program that still shows what the caller asks about.
#pragma once

#include <functional>

#include "tests/random/text.h"

namespace ss::random {

// `shows` must hold for `lines`. Lines are dropped in ever smaller runs until no single one can go.
Lines Shrink(Lines lines, const std::function<bool(const Lines&)>& shows);

}  // namespace ss::random
