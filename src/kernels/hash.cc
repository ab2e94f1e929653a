#include "src/kernels/hash.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace ss::kernels {
namespace {

uint64_t Finish(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

}  // namespace

void Hasher::Number(uint64_t number) {
  first_ = std::rotl(first_ ^ Finish(number), 27) * 0x9fb21c651e98df25ull + 0x52dce729;
  second_ =
      std::rotl(second_ + number * 0x87c37b91114253d5ull, 31) * 0x4cf5ad432745937full + 0x38495ab5;
}

void Hasher::Text(std::string_view text) {
  Number(text.size());
  size_t at = 0;
  for (uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    Number(word);
  }
  uint64_t rest = 0;
  if (at < text.size()) std::memcpy(&rest, text.data() + at, text.size() - at);
  Number(rest);
}

std::string Hasher::Hex() const {
  return fmt::format("{:016x}{:016x}", Finish(first_ ^ second_), Finish(second_ + first_ * 3));
}

}  // namespace ss::kernels
