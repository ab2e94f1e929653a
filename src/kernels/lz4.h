// LZ4 blocks, unpacking only: what fat binaries use. Forty lines of the published block format
// instead of a dependency of the whole project.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ss::kernels {

// Exactly `size` bytes come out, or false.
bool UnpackLz4(std::string_view packed, uint64_t size, std::string* out);

}  // namespace ss::kernels
