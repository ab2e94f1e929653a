// Copies whose source is read out of their stream's order (rule 9) as two operations, first the
// reading, then the rest.
#pragma once

#include <vector>

#include "src/program/op.h"

namespace ss::reference {

// `origin` receives, by position in the result, the position in `ops`.
std::vector<Op> SplitSources(const std::vector<Op>& ops, std::vector<size_t>* origin);
bool IsSourcePart(const Op& op);

}  // namespace ss::reference
