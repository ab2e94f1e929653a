// PTX, which the driver compiles where we cannot see it: the same done here with NVIDIA's ptxas,
// found on the machine, never shipped.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace ss::kernels {

bool LooksLikePtx(std::string_view image);

// A cubin for sm_`arch`; 0 = the architecture that the text names. STREAMSAN_PTXAS, then the places
// where nvdisasm is looked for. Errors: there is no ptxas, or it does not accept the text.
Result<std::string> CompilePtx(const std::string& ptx, int arch, const std::string& place);

}  // namespace ss::kernels
