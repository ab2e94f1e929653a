// Ids of findings: the same in every run of a program, on every machine, and after edits elsewhere
// in a source file. They are what baselines, `explain` and `--confirm` name a finding by.
//
// Hashed are code, buffer name, and for each of the two operations its kind, name and the functions
// of its call stack. Not hashed: numbers that depend on the run (operations, stacks, unnamed
// streams and buffers, ranks, addresses) and those that change with every edit (lines). What is
// left equal thereby is numbered in the order of the report.
#pragma once

#include <string>
#include <vector>

#include "src/program/finding.h"
#include "src/report/symbols.h"

namespace ss {

// One id a finding, in step; "" for those that are absorbed.
std::vector<std::string> IdsOf(const Report& report, Symboliser& symbols);

}  // namespace ss
