// `streamsan run --confirm`: an earlier finding as a plan of what to hold back in a new run.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/cli/options.h"
#include "src/program/finding.h"
#include "src/report/symbols.h"
#include "src/trace/trial.h"

namespace ss {

struct PlannedTrial {
  trace::TrialPlan plan;
  std::string id;             // of the finding
  std::string first, second;  // for people
};

// Errors: no trace, no such finding in it, a finding whose operations cannot be held or marked.
Result<PlannedTrial> PlanTrial(const ConfirmOptions& options, const ReportOptions& report);

// The value of trace::kTrialVariable.
std::string PlanText(const trace::TrialPlan& plan);

// Says in the report whose trial it was; where no process got to it, that too. The calls that were
// tried are the hazard's only where the run has it.
void NameTrials(const PlannedTrial& planned, Report& report, Symboliser& symbols);

}  // namespace ss
