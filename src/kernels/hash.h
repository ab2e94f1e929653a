// 128 bits of a sequence of texts and numbers: two FNV-style lanes of 64 bits over 8-byte words
// with different multipliers. Not against an adversary: a cache key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ss::kernels {

class Hasher {
 public:
  void Text(std::string_view text);  // with its length, so that pieces do not run together
  void Number(uint64_t number);
  std::string Hex() const;  // 32 digits

 private:
  uint64_t first_ = 0x9e3779b97f4a7c15ull;
  uint64_t second_ = 0xc2b2ae3d27d4eb4full;
};

}  // namespace ss::kernels
