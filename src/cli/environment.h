// STREAMSAN_OPTIONS=key=value:key=value. The capture library reads the same variable inside the
// watched program; here are the keys that the watching side obeys. A key that neither knows is an
// error: a misspelt option that is silently ignored costs a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/program/finding.h"

namespace ss {

struct Environment {
  bool disable = false;  // run the program as if the tool were not there
  bool strict = false;   // mode=strict
  bool halt_on_error = false;
  uint64_t max_trace_mb = 0;    // 0 = the default
  uint64_t stall_seconds = 30;  // without a collective, before ranks count as waiting for nobody
  std::optional<Confidence> min_confidence;
};

// `text` may be null.
Result<Environment> ParseEnvironment(const char* text);

// What --help says of the environment: a line for each variable that is read.
std::string EnvironmentHelp();

// "certain", "likely", "possible".
std::optional<Confidence> ParseConfidence(const std::string& word);

}  // namespace ss
