// Bits of a 16-bit float from its decimal text, as nvdisasm writes immediates: compilers make
// integer constants with half-precision arithmetic (HFMA2 R4, -RZ, RZ, 1.875, 0).
#pragma once

#include <cstdint>
#include <string_view>

namespace ss::kernels {

// False when the text is not a number that 16 bits hold exactly.
bool ParseHalf(std::string_view text, uint16_t* bits);

}  // namespace ss::kernels
