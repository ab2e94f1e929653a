// Tables that CMake makes from cuda.h: every function of the interface and every error code.
#pragma once

#include <span>

namespace ss::vgpu {

struct GeneratedFunction {
  const char* name;  // with suffixes, as the dynamic symbol
  void* address;
};
std::span<const GeneratedFunction> Functions();

// From which cudaVersion on a further variant of a function exists, as cudaTypedefs.h lists them.
struct GeneratedVersion {
  const char* name;  // without suffixes
  int version;       // ascending per name
};
std::span<const GeneratedVersion> Versions();

struct GeneratedError {
  int code;
  const char* name;
  const char* text;
};
const GeneratedError* FindError(int code);

}  // namespace ss::vgpu
