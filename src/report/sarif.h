// SARIF 2.1.0: the format of code scanning services and editors.
#pragma once

#include <string>
#include <vector>

#include "src/report/observed.h"
#include "src/report/pipeline.h"
#include "src/report/print.h"

namespace ss {

constexpr char kSarifFingerprint[] = "streamsan/v1";  // of a result: the hazard's id

std::string PrintSarif(const PrintInput& input);
std::string PrintPipelineSarif(const std::vector<PipelineReport>& reports);
std::string PrintObservedSarif(const std::vector<ObservedReport>& reports);

}  // namespace ss
