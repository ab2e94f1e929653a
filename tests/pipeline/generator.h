// Random protocols as text: correct ones of a few shapes, with some of their operations deleted,
// doubled, swapped or invented.
#pragma once

#include <cstdint>
#include <string>

namespace ss::pipeline {

std::string RandomProtocol(uint64_t seed);

}  // namespace ss::pipeline
