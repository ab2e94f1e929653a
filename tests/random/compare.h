// Two checkers' answers in the same words, and how they differ.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/program/finding.h"
#include "tests/reference/reference.h"

namespace ss::random {

// One line a hazard or advice: "lifetime X struck: line 4 (kernel) / line 9 (free)".
struct Answer {
  std::set<std::string> hazards;
  std::set<std::string> advice;
  bool tells_of_hang = false;  // a wait that never ends, an order that was not followed to its end
};

Answer AnswerOf(const Program& program, const reference::Verdict& verdict);
// `ops` are what the report's positions count.
Answer AnswerOf(const std::vector<Op>& ops, const Report& report);

// Lines "only NAME: ..." for both sides; empty = they agree.
std::vector<std::string> Differences(const Answer& a, const std::string& a_name, const Answer& b,
                                     const std::string& b_name);

}  // namespace ss::random
