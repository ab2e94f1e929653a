#include "src/base/printable.h"

#include <cstdint>
#include <cstdio>

namespace ss {
namespace {

// Length of the character at the front; 0 = none, or one that a terminal would obey.
size_t CharacterAt(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0xa0, 0x800, 0x10000};  // below 0xa0: more controls
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length] || surrogate || code > 0x10ffff ? 0 : length;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = CharacterAt(text);
    if (length != 0) {
      out += text.substr(0, length);
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(text[0]));
      out += escaped;
    }
    text.remove_prefix(length != 0 ? length : 1);
  }
  return out;
}

}  // namespace ss
