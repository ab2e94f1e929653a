// Runs one `.pipe` file against its own expect lines, as src/litmus/runner.h does for `.litmus`.
#pragma once

#include <string>
#include <string_view>

#include "src/litmus/runner.h"

namespace ss::pipeline {

LitmusOutcome RunPipeText(std::string_view text, const std::string& name);
LitmusOutcome RunPipeFile(const std::string& path);

}  // namespace ss::pipeline
