// The kernels that a recorded program launched.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/kernels/cache.h"
#include "src/kernels/modules.h"

namespace ss {

struct TraceKernels {
  kernels::Analysis analysis;      // in order of first launch, the same kernel once
  std::vector<uint64_t> launches;  // of each
};

// Whether the file begins as a trace does.
bool IsTraceFile(const std::string& path);

// Reads the whole trace and waits for the analysis. Kernels whose machine code is not there are
// unresolved, with the reason. Errors: not a trace.
Result<TraceKernels> KernelsOfTrace(const std::string& path, kernels::Cache cache);

}  // namespace ss
