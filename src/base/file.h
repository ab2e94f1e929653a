// Whole files as strings. Refused by name: folders, devices and pipes, which may never end, and
// what is too large to be what was meant (a sparse file can be larger than any memory).
#pragma once

#include <cstdint>
#include <string>

#include "src/base/result.h"

namespace ss {

constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // libraries with machine code have gigabytes
constexpr uint64_t kMostText = uint64_t{512} << 20;

Result<std::string> ReadBytes(const std::string& path, uint64_t most = kMostBytes);
// Without the byte-order mark that some editors put first.
Result<std::string> ReadText(const std::string& path, uint64_t most = kMostText);

}  // namespace ss
