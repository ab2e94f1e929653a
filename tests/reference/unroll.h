// Programs with graphs as programs without: every launch becomes the captured work, once more
// (rule 14). Written from the rule, not from the engine: order inside a graph is kept as "this node
// comes after those nodes", and told by one event a node.
#pragma once

#include "src/program/op.h"

namespace ss::reference {

bool HasGraphs(const Program& program);
// `program` with its operations unrolled.
void UnrollGraphs(Program* program);

}  // namespace ss::reference
