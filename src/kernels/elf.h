// Sections and symbols of a 64-bit little-endian ELF file. Every read is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace ss::kernels {

// A T at `offset`, or false when the bytes end before.
template <typename T>
bool ReadAt(std::string_view bytes, uint64_t offset, T* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(T));
  return true;
}

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t offset = 0;
  std::string_view data;  // empty for what takes no room in the file
  uint32_t link = 0;
  uint32_t info = 0;
};

struct ElfSymbol {
  std::string_view name;
  uint8_t type = 0;
  uint8_t other = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};

struct Elf {
  uint16_t machine = 0;
  uint8_t abi_version = 0;
  uint32_t flags = 0;
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;
  uint64_t length = 0;  // of the file, as far as its tables reach

  const ElfSection* Find(std::string_view name) const;
};

Result<Elf> ReadElf(std::string_view image, const std::string& place);

// How far the ELF file at the front of `image` reaches; 0 when it is none. For images in memory, of
// which only the start is known.
uint64_t ElfLength(std::string_view image);

}  // namespace ss::kernels
