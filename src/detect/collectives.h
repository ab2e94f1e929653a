// Hazards collective-order and collective-mismatch (rule 24): the operations of one communicator
// must come in the same order on every rank, and agree in kind, count and root.
#pragma once

#include <string>
#include <vector>

#include "src/model/cross.h"
#include "src/program/finding.h"
#include "src/program/op.h"

namespace ss {

// `alone`: the program walked without what ranks learn from each other. One finding a communicator,
// and what they rest on is exact: kinds, counts and order are arguments of the calls.
std::vector<Finding> CheckCollectives(const CrossClocks& alone, const Program& names,
                                      const std::vector<Op>& ops,
                                      const std::vector<Access>& accesses);

}  // namespace ss
