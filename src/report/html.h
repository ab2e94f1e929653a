// Pages: one file that needs nothing else, no network, no framework. The words are in the HTML; the
// pictures are drawn by the script from the JSON that lies beside them.
#pragma once

#include <string>
#include <vector>

#include "src/report/pipeline.h"
#include "src/report/print.h"

namespace ss {

std::string PrintHtml(const PrintInput& input);
std::string PrintPipelineHtml(const std::vector<PipelineReport>& reports);

}  // namespace ss
