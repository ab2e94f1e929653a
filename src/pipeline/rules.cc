#include "src/pipeline/rules.h"

#include <cstdlib>
#include <cstring>

namespace ss::pipeline {

const RuleInfo& Info(Rule rule) {
  static const RuleInfo kInfos[] = {
#define X(name, number, text) {#name, number, text},
      SS_PIPELINE_RULES(X)
#undef X
  };
  return kInfos[static_cast<size_t>(rule)];
}

#ifdef STREAMSAN_BREAK_RULES
// Read at every use: the test that walks through the rules changes the variable within one process.
bool RuleOn(Rule rule) {
  const char* broken = std::getenv("STREAMSAN_BREAK_RULE");
  return broken == nullptr || std::strcmp(broken, Info(rule).name) != 0;
}
#endif

}  // namespace ss::pipeline
