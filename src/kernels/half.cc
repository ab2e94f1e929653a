#include "src/kernels/half.h"

#include <charconv>
#include <cmath>

namespace ss::kernels {

bool ParseHalf(std::string_view text, uint16_t* bits) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) return false;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  value = std::fabs(value);
  if (std::isinf(value)) {
    *bits = sign | 0x7c00;
    return true;
  }
  int exponent = 0;
  std::frexp(value, &exponent);  // value = 0.1xxx * 2^exponent
  int scale = value == 0 ? -14 : std::max(exponent - 1, -14);
  double mantissa = std::ldexp(value, 10 - scale);  // 1024..2047, less when subnormal
  if (scale > 15 || mantissa != std::floor(mantissa)) return false;
  uint32_t biased = mantissa >= 1024 ? uint32_t(scale + 15) << 10 | (uint32_t(mantissa) & 1023)
                                     : uint32_t(mantissa);
  *bits = static_cast<uint16_t>(sign | biased);
  return true;
}

}  // namespace ss::kernels
