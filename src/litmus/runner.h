// Runs one litmus file against its own expectations. The engine is handed in: this folder stands
// above it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/litmus/litmus.h"

namespace ss {

struct LitmusOptions {
  std::set<int>
      rules;  // rules beyond the basic ones that the engine models; compared with LitmusFile::needs
  bool strict = false;  // the mode of files that do not say
};

struct LitmusOutcome {
  enum class Status : uint8_t {
    kPassed,
    kFailed,     // an expectation is not met, or a hazard that no line expects
    kSkipped,    // needs a rule that the engine does not model, or is a .pipe file
    kMalformed,  // cannot be read, or refused otherwise than its #!error line says: a failure, exit
                 // code 2
  };
  Status status = Status::kPassed;
  std::vector<std::string> messages;  // why, unless passed; each begins with the file or its place
};

using AnalyseFunction = std::function<Report(const Program&)>;

LitmusOutcome RunLitmusFile(const std::string& path, const AnalyseFunction& analyse,
                            const LitmusOptions& options);
LitmusOutcome RunLitmusText(std::string_view text, const std::string& name,
                            const AnalyseFunction& analyse, const LitmusOptions& options);

}  // namespace ss
