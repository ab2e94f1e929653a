// NCCL in a trace: NcclCall's kinds by name, and its kernels.
#pragma once

#include <cstdint>
#include <string_view>

namespace ss::trace {

enum NcclKind : uint64_t {
#define NCCL_KIND(number, name, movement, code) kNccl##name = number,
#include "src/trace/nccl.def"
  kNcclKinds
};

// By what the driver calls it, which may be mangled.
inline bool IsNcclKernel(std::string_view name) {
  for (std::string_view part : {"ncclDevKernel", "ncclKernel_", "ncclSymk"}) {
    if (name.find(part) != name.npos) return true;
  }
  return false;
}

}  // namespace ss::trace
