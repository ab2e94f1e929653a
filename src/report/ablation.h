// What an ablation prints: one line a place, or an object a wait.
#pragma once

#include <string>

#include "src/explain/ablate.h"
#include "src/program/finding.h"
#include "src/report/symbols.h"

namespace ss {

struct AblationInput {
  const Ablation& ablation;
  const Report& report;  // of the same program: its name and coverage
  Symboliser& symbols;
};

// Waits of one place (call stack or litmus line) and wording are one line, in first-seen order.
std::string PrintAblationText(const AblationInput& input);
// One object, "schema": 1, every wait by itself.
std::string PrintAblationJson(const AblationInput& input);

}  // namespace ss
