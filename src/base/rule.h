// Switches of single rules, for the tests that prove that some case notices each one. A table of
// rules is an X-macro, X(Name, "row of docs/semantics.md", "what it says"); src/model/rules.h and
// src/pipeline/rules.h hold one each. Only builds with STREAMSAN_BREAK_RULES can switch one off.
#pragma once

#include <cstdlib>
#include <cstring>

namespace ss {

struct RuleInfo {
  const char* name;    // what STREAMSAN_BREAK_RULE takes
  const char* number;  // row of docs/semantics.md
  const char* text;
};

#define SS_RULE_NAME(name, number, text) k##name,
#define SS_RULE_INFO(name, number, text) {#name, number, text},

#ifdef STREAMSAN_BREAK_RULES
// Read at every use: a test that walks through the rules changes the variable within one process.
inline bool RuleStands(const RuleInfo& rule) {
  const char* broken = std::getenv("STREAMSAN_BREAK_RULE");
  return broken == nullptr || std::strcmp(broken, rule.name) != 0;
}
#endif

}  // namespace ss
