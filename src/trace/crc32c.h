// CRC-32C (Castagnoli), in software: blocks are checked at a few hundred MB/s, far above what is
// drained.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ss::trace {

// Continues from `crc`, so that Crc32c(b, Crc32c(a)) is the sum of a followed by b.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace ss::trace
