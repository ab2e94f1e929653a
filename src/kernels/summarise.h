// From access sites with their roots to a kernel's summary.
#pragma once

#include "src/kernels/flow.h"
#include "src/kernels/graph.h"
#include "src/kernels/interpreter.h"
#include "src/kernels/summary.h"

namespace ss::kernels {

// `polling`: instructions (PollingLoads). Fills everything but name, arch, hash and params.
void Summarise(const Code& code, const Graph& graph, const FlowResult& flow,
               const KernelInfo& kernel, Interpreter& interpreter,
               const std::vector<uint32_t>& polling, KernelSummary& out);

}  // namespace ss::kernels
