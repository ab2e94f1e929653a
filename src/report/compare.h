// What changed: with an edge put in (`whatif`), or between two runs (`diff`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/explain/what_if.h"
#include "src/program/finding.h"
#include "src/report/select.h"

namespace ss {

std::string PrintWhatIf(const WhatIf& result, const Report& report);
std::string PrintWhatIfJson(const WhatIf& result, const Report& report);

// One side of a diff: all that two runs are compared by.
struct DiffSide {
  struct Hazard {
    std::string
        text;  // "lifetime, likely: combined, unpermute_backward (compute) then free (main)"
    std::string confidence;
    uint64_t count = 0;
  };
  std::string name;
  std::map<std::string, Hazard> hazards;  // by id
  bool has_waits = false;
  std::map<std::string, uint64_t>
      waits;  // "comm waits for an event of compute [moe.cc:12]" -> times
  std::string coverage;
  bool complete = true;
};

DiffSide SideOf(const std::string& name, const Report& report, const Selection& selection);
// From an earlier `--format json` report. Errors: it is none.
Result<DiffSide> ParseDiffSide(std::string_view text, const std::string& file);

std::string PrintDiff(const DiffSide& before, const DiffSide& after);
std::string PrintDiffJson(const DiffSide& before, const DiffSide& after);
// Hazards that only the second one has.
uint64_t NewHazardsOf(const DiffSide& before, const DiffSide& after);

}  // namespace ss
