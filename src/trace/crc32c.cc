#include "src/trace/crc32c.h"

#include <array>
#include <cstring>

namespace ss::trace {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

// Slicing by 8: tables[k][b] is the sum of byte b followed by k zero bytes.
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kPolynomial : crc >> 1;
    tables[0][byte] = crc;
  }
  for (size_t slice = 1; slice < 8; ++slice) {
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = crc >> 8 ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr auto kTables = MakeTables();

uint32_t EightBytes(uint32_t crc, const uint8_t* at) {
  uint64_t word;  // files and rings are little-endian
  memcpy(&word, at, 8);
  word ^= crc;
  uint32_t next = 0;
  for (size_t i = 0; i < 8; ++i) next ^= kTables[7 - i][word >> (8 * i) & 0xff];
  return next;
}

}  // namespace

uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc) {
  const auto* at = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) crc = EightBytes(crc, at);
  for (; bytes; --bytes) crc = crc >> 8 ^ kTables[0][(crc ^ *at++) & 0xff];
  return ~crc;
}

}  // namespace ss::trace
