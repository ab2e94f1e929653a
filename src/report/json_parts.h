// Pieces that the JSON printers share. For .cc files of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/program/finding.h"
#include "src/report/symbols.h"

namespace ss {

nlohmann::ordered_json TextOrNull(const std::string& text);
nlohmann::ordered_json FrameJson(const Frame& frame);
nlohmann::ordered_json CoverageJson(const Coverage& coverage);

}  // namespace ss
