#include "src/model/rules.h"

namespace ss {

const RuleInfo& Info(Rule rule) {
  static const RuleInfo kInfos[] = {SS_RULES(SS_RULE_INFO)};
  return kInfos[static_cast<size_t>(rule)];
}

}  // namespace ss
