#include "tests/pipeline/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ss::pipeline {

std::vector<Mutant> Mutants(const Protocol& protocol) {
  std::vector<Mutant> mutants;
  for (size_t role = 0; role < protocol.roles.size(); ++role) {
    std::set<std::pair<uint32_t, uint32_t>> done;
    for (const Op& op : protocol.roles[role].ops) {
      if (!done.insert({op.line, op.column}).second) continue;
      Mutant mutant{fmt::format("{} without {} (line {}:{})", protocol.roles[role].name,
                                Text(protocol, op), op.line, op.column),
                    protocol};
      std::erase_if(mutant.protocol.roles[role].ops, [&](const Op& other) {
        return other.line == op.line && other.column == op.column;
      });
      mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

}  // namespace ss::pipeline
