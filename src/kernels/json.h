// A summary as JSON: what the command line prints, and, with every field, what the cache keeps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/kernels/summary.h"

namespace ss::kernels {

// {"kernels":[{"name","arch","resolved","flags","params":[...],"accesses":[...]}]}; `extra`:
// further members of the outer object, as (name, list of texts).
std::string KernelsJson(const std::vector<KernelSummary>& kernels,
                        const std::vector<std::string>& notes);

std::string Pack(const KernelSummary& summary);
// Errors: not what Pack wrote.
Result<KernelSummary> Unpack(std::string_view text, const std::string& place);

}  // namespace ss::kernels
