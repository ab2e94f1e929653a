// Litmus files: parser (text -> Program + expectations) and matcher (report against expectations).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/program/finding.h"
#include "src/program/op.h"

namespace ss {

struct ExpectFix {
  FixKind kind{};
  // In the order of docs/litmus.md: wait CONSUMER PRODUCER, record_stream A S, ...
  std::string a, b;
};

struct Expectation {
  enum class Kind : uint8_t { kHazard, kAdvice, kNoHazard, kNoAdvice };
  Kind kind{};
  std::string code;           // hazard or advice code
  std::string subject;        // buffer, communicator; advice: SUBJECT or ""
  std::string first, second;  // label or lane; "" = not stated (lifetime has only `first`)
  bool struck = false;        // `struck` was stated
  std::optional<ExpectFix> fix;
  uint32_t line = 0;
};

struct LitmusFile {
  Program program;
  std::vector<Expectation> expectations;
  // Rules of docs/semantics.md that the file needs beyond the basic ones (1-6, 9, 10, 12, 16-20,
  // 22), as (rule number, what), e.g. {14, "capture"}.
  struct Need {
    int rule = 0;
    std::string what;
  };
  std::vector<Need> needs;
};

// The `#!error L:C TEXT` line, if the file begins with one.
struct ExpectedError {
  int line = 0, column = 0;
  std::string text;
};
std::optional<ExpectedError> ParseExpectedError(std::string_view text);

// Errors: place "FILE:L:C", message "found 'X', expected Y".
Result<LitmusFile> ParseLitmus(std::string_view text, const std::string& file_name);

// Messages for every expectation that is not met and every finding that no line expects; empty =
// passes. Names match labels, lanes, host threads, aliases; a fix passes iff a *verified* fix of
// the finding equals it.
std::vector<std::string> MatchExpectations(const std::vector<Expectation>& expectations,
                                           const Report& report);

}  // namespace ss
