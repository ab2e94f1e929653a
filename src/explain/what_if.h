// What would be if an edge were there, or a wait were not: the program with that change, judged
// again.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/explain/replay.h"
#include "src/program/finding.h"

namespace ss {

struct EdgeRequest {
  enum class Kind : uint8_t {
    kOrder,         // operation `to` starts after operation `from` is complete
    kRecordStream,  // before each free of `buffer`: record_stream(buffer, stream)
    kRemove,        // the wait that is operation `to`
    kFirstFixes,    // the first fix of every hazard, all of them together
  };
  Kind kind{};
  std::string text;  // as it was asked for
  OpId from = 0, to = 0;
  std::string buffer, stream;
  bool once = false;  // only there; else at every pair of the same two places in the program
};

// "FROM:TO" or "record_stream:BUFFER:STREAM". Error: anything else.
Result<EdgeRequest> ParseAddition(const std::string& text);
Result<EdgeRequest> ParseRemoval(const std::string& text);

struct WhatIf {
  std::vector<std::string> changes;  // "op 122 waits for op 116, at 4 places"
  std::vector<Finding> gone, fresh, stay;
  uint64_t path_before = 0, path_after = 0;  // operations on the critical path
  Edit edit;                                 // what was changed
};

// Of hazards of at least this confidence.
Result<WhatIf> TryEdges(const Tape& tape, const CheckOptions& check,
                        const std::vector<EdgeRequest>& edges, Confidence least);

}  // namespace ss
