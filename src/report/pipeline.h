// Verdicts on `.pipe` files, for people and for programs. As elsewhere in this folder: no logic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/explain/pipeline_fix.h"
#include "src/pipeline/check.h"

namespace ss {

struct PipelineReport {
  std::string file;
  pipeline::Program program;
  pipeline::Verdict verdict;
  double seconds = 0;
  uint64_t hidden = 0;  // findings below the confidence asked for, taken out of the verdict
  std::vector<std::vector<PipelineFix>> fixes;  // in step with the verdict's findings
};

// "Coverage: every schedule of 37 steps."
std::string CoverageText(const std::vector<PipelineReport>& reports);

// Hazards with a picture of each schedule; the count last.
std::string PrintPipelineText(const std::vector<PipelineReport>& reports, uint64_t print_limit);

// One object, "schema": 1, with the keys of every other report; beside them "witness" in a hazard:
// the steps that lead to it.
std::string PrintPipelineJson(const std::vector<PipelineReport>& reports);

}  // namespace ss
