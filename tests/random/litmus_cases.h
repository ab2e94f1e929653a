// The hand-written cases, for what random programs leave out.
#pragma once

#include <string>

namespace ss::random {

// Does the engine miss an expectation of some .litmus file in `folder`? Names the first such file.
// Fixes are not asked for. "" = no folder: false.
bool LitmusFails(const std::string& folder);

}  // namespace ss::random
