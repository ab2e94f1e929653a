#include "tests/random/planted.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "src/model/rules.h"
#include "tests/random/litmus_cases.h"

namespace ss::random {
namespace {

[[maybe_unused]] constexpr int kSkipped = 77;

[[maybe_unused]] int InChild(const char* rule, const Options& options,
                             const std::function<int(const Options&)>& check) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (rule != nullptr) setenv("STREAMSAN_BREAK_RULE", rule, 1);
    const int rc = check(options);
    std::fflush(nullptr);
    _exit(rc);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
  return WEXITSTATUS(status);
}

}  // namespace

#ifdef STREAMSAN_BREAK_RULES
int CheckEveryRule(Options options, const std::function<int(const Options&)>& check) {
  unsetenv("STREAMSAN_BREAK_RULE");
  const auto litmus = [](const Options& o) { return LitmusFails(o.litmus) ? 1 : 0; };
  int unseen = 0;
  if (InChild(nullptr, options, check) != 0) {
    ++unseen;
    fmt::print("with all rules on, engine and reference disagree\n");
  }
  if (InChild(nullptr, options, litmus) != 0) {
    ++unseen;
    fmt::print("with all rules on, a litmus file fails\n");
  }
  options.expect_flip = true;
  for (int i = 0; i < static_cast<int>(Rule::kCount); ++i) {
    const RuleInfo& rule = Info(static_cast<Rule>(i));
    fmt::print("without {:4} {:20} ", rule.number, rule.name);
    if (InChild(rule.name, options, litmus) == 0) {
      ++unseen;
      fmt::print("NO litmus file fails\n");
    }
    fmt::print("{:34}", "");
    if (InChild(rule.name, options, check) != 0) ++unseen;
  }
  fmt::print("{} unseen\n", unseen);
  return unseen == 0 ? 0 : 1;
}
#else
int CheckEveryRule(Options, const std::function<int(const Options&)>&) {
  fmt::print("this build cannot switch rules off: configure with -DSTREAMSAN_BREAK_RULES=ON\n");
  return kSkipped;
}
#endif

}  // namespace ss::random
