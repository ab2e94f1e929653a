#include "tests/pipeline/promela.h"

#include <fmt/format.h>

namespace ss::pipeline {
namespace {

// Rule 25, all at once.
std::string Apply(const Step& step) {
  const uint32_t b = step.barrier;
  std::string change;
  switch (step.kind) {
    case Step::Kind::kArrive:
      change = fmt::format("p[{}] = p[{}] - {}", b, b, step.count);
      break;
    case Step::Kind::kDrop:
      change = fmt::format("p[{0}] = p[{0}] - {1}; e[{0}] = e[{0}] - {1}", b, step.count);
      break;
    case Step::Kind::kExpect:
      change = fmt::format("tx[{0}] = tx[{0}] + {1}", b, step.count);
      break;
    default:
      change = fmt::format("tx[{0}] = tx[{0}] - {1}", b, step.count);
  }
  return fmt::format(
      "atomic {{ {0}; g = k[{1}] + 1; do :: (p[{1}] <= 0 && tx[{1}] == 0) -> k[{1}] = k[{1}] + 1; "
      "p[{1}] = p[{1}] + "
      "e[{1}]; if :: (e[{1}] <= 0) -> break :: else fi :: else -> break od }}",
      change, b);
}

}  // namespace

std::string Promela(const Program& program) {
  const size_t n = program.barriers.size();
  std::string text = fmt::format("int k[{0}]; int p[{0}]; int tx[{0}]; int e[{0}];\n", n ? n : 1);
  text += "init { atomic {\n";
  for (size_t i = 0; i < n; ++i)
    text += fmt::format("  p[{0}] = {1}; e[{0}] = {1};\n", i, program.barriers[i].expected);
  for (size_t agent = 0; agent < program.agents.size(); ++agent)
    text += fmt::format("  run agent{}();\n", agent);
  text += "} }\n";
  for (size_t agent = 0; agent < program.agents.size(); ++agent) {
    text += fmt::format("proctype agent{}() {{ int g;\n", agent);
    for (const Step& step : program.StepsOf(static_cast<uint32_t>(agent))) {
      if (!step.OnBarrier()) continue;
      if (step.kind == Step::Kind::kWait) {
        text += fmt::format("  (k[{}] % 2 == {});\n", step.barrier, step.need % 2);
      } else if (step.kind == Step::Kind::kMeet) {
        text += fmt::format("  (k[{}] >= g);\n", step.barrier);
      } else {
        text += "  " + Apply(step) + ";\n";
      }
    }
    text += "  skip\n}\n";
  }
  return text;
}

}  // namespace ss::pipeline
