// Candidate fixes of a finding, as edits of the program (fix kinds: docs/litmus.md).
#pragma once

#include <vector>

#include "src/explain/replay.h"
#include "src/program/finding.h"

namespace ss {

struct Candidate {
  Fix fix;
  Edit edit;                // puts the fix in at every instance of the finding
  bool if_cheaper = false;  // worth offering only where it costs less than the candidate before it
};

// In the order in which reports show them: realloc / record_stream, wait, host-sync, handoff.
// `first_free_event` is an EventId that the program does not use, nor any above it.
std::vector<Candidate> ProposeFixes(const Finding& finding, const Tape& tape,
                                    EventId first_free_event);

}  // namespace ss
