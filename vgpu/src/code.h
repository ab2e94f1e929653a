// Machine code of a real GPU, as far as the virtual one needs it: which kernels are in it and where
// their parameters lie. The code itself is never looked at; the program's host functions of the
// same names run in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ss::vgpu {

struct CodeKernel {
  std::string name;                                       // mangled
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  // offset, size
};

constexpr size_t kNoLimit = size_t{1} << 40;

// Whether `image` begins like a cubin or a fat binary; like the wrapper around a pointer to one.
bool IsCode(const void* image);
bool IsWrapped(const void* image);

// The kernels of a cubin, or of the first cubin in a fat binary. Empty `error`: it went well. Reads
// at most `limit` bytes; in memory nobody knows how many there are, and the image is believed.
// Compressed entries are refused (nvcc -no-compress makes others); PTX has no parameter layout to
// take over and is refused too.
std::vector<CodeKernel> ReadCode(const void* image, size_t limit, std::string* error);

// The host functions behind those names (vgpu_register); null: the program has none.
struct Function;
void ResolveCode(const CodeKernel& kernel, Function* function);

}  // namespace ss::vgpu
