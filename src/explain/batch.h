// Copies of batches in a tape (rule 9).
#pragma once

#include <vector>

#include "src/program/finding.h"
#include "src/program/op.h"

namespace ss {

// The first copy of the batch that the operation at `index` is of; of any other one, `index`.
size_t BatchOf(const std::vector<Op>& ops, size_t index);
// The last one of it.
size_t EndOfBatch(const std::vector<Op>& ops, size_t index);
bool OfOneBatch(const std::vector<Op>& ops, size_t first, size_t second);
// Is the site the reading of a source out of the stream's order?
bool ReadsApart(const Op& op, const Site& site);

}  // namespace ss
