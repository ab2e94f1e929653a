// The checker beside the oracle, on one protocol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/pipeline/check.h"
#include "tests/pipeline/oracle.h"

namespace ss::pipeline {

// Differences in stuck end states, early waits, overtaken waits and races, as sentences.
std::vector<std::string> Differences(const oracle::Truth& truth, const Verdict& verdict);

// Runs every finding's schedule in the oracle: each step must be possible, and what the finding
// says must hold at its end. Sentences about those that do not.
std::vector<std::string> BrokenWitnesses(const oracle::Oracle& oracle, const Verdict& verdict);

}  // namespace ss::pipeline
