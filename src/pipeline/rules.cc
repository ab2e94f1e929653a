#include "src/pipeline/rules.h"

namespace ss::pipeline {

const RuleInfo& Info(Rule rule) {
  static const RuleInfo kInfos[] = {SS_PIPELINE_RULES(SS_RULE_INFO)};
  return kInfos[static_cast<size_t>(rule)];
}

}  // namespace ss::pipeline
