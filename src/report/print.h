// What every printer is given, and the printers. They hold no logic: what is shown was decided by
// Select, what is true by the detectors.
#pragma once

#include <string>

#include "src/program/finding.h"
#include "src/report/select.h"
#include "src/report/symbols.h"

namespace ss {

struct PrintInput {
  const Report& report;
  const Selection& selection;
  Symboliser& symbols;
};

struct PrintOptions {
  bool colour = false;
  uint64_t print_limit = 100;  // hazards spelled out; all are counted
};

// For people. The order of its parts and the facts are stable, the wording is not.
std::string PrintText(const PrintInput& input, const PrintOptions& options);

// For programs: one object, "schema": 1. Keys are only ever added, an absent value is null. All
// selected hazards, whatever the print limit.
std::string PrintJson(const PrintInput& input);

}  // namespace ss
