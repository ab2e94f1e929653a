// The table of a hazard in the text report: one row an operation, as words.
#pragma once

#include <string>
#include <vector>

#include "src/report/print.h"

namespace ss {

struct Row {
  std::string role;  // use, free, alloc, reuse; first, second
  std::string op, name, lane, access, place;
  const Site* site = nullptr;
};

std::vector<Row> RowsOf(const PrintInput& input, const Finding& finding);

// "use k1 was issued by main at", then the program's innermost frames, at most `most`; nothing for
// a single frame, which is the row's place.
std::vector<std::string> StackLines(const PrintInput& input, const Row& row, size_t most);

// "moe.cc:211" of a stack or of a line of the litmus file `source` ("" = the report's program); ""
// = unknown.
std::string PlaceText(const PrintInput& input, const std::string& source, StackId stack,
                      uint32_t line, const std::vector<StackId>& others = {});

}  // namespace ss
