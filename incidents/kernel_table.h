// Machine code of kernels.cu for the driver that this process runs on, and what each kernel does
// with its pointers.
#pragma once

#include <cstdint>
#include <span>

namespace ss::incidents {

struct KernelUse {
  const char* name;
  const char* pointers;  // one letter for each leading pointer: r read, w write, m both, a atomic
};
std::span<const KernelUse> KernelUses();

// For cuModuleLoadData. Null when the process runs on a real driver and was built without nvcc.
const void* KernelImage();

}  // namespace ss::incidents
