// Why the order is missing: which waits were there and what they cover instead.
#pragma once

#include "src/explain/replay.h"
#include "src/explain/window.h"
#include "src/program/finding.h"

namespace ss {

// Fills root_cause, evidence and evidence_sites.
void ExplainCause(Finding* finding, const Tape& tape, const LaneNames& names);

}  // namespace ss
