// pipeline_mutants STATES FILE...: checker and oracle on every single-operation deletion of each
// file. Exit 1 when they differ anywhere. Mutants with more states than that are counted.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/pipeline/compare.h"
#include "tests/pipeline/mutants.h"

namespace ss::pipeline {
namespace {

struct Count {
  uint64_t mutants = 0, too_large = 0, differ = 0, faulty = 0, states = 0, most_searched = 0;
};

void Compare(const Mutant& mutant, uint64_t max_states, Count& count) {
  ++count.mutants;
  const oracle::Oracle oracle(mutant.protocol);
  const oracle::Truth truth = oracle.Explore(max_states);
  count.states += truth.states;
  if (!truth.complete) {
    ++count.too_large;
    return;
  }
  const Verdict verdict = Check(Lower(mutant.protocol));
  count.faulty += verdict.Hazards() > 0;
  count.most_searched = std::max(count.most_searched, verdict.states);
  std::vector<std::string> messages = Differences(truth, verdict);
  for (std::string& broken : BrokenWitnesses(oracle, verdict)) messages.push_back(broken);
  if (!verdict.exhaustive) messages.push_back("the checker gave up");
  count.differ += !messages.empty();
  for (const std::string& message : messages) fmt::print("{}: {}\n", mutant.name, message);
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: pipeline_mutants STATES FILE...\n");
    return 2;
  }
  Count count;
  for (int i = 2; i < argc; ++i) {
    std::stringstream text;
    text << std::ifstream(argv[i]).rdbuf();
    if (text.str().substr(0, 7) == "#!error") continue;
    Result<Protocol> protocol = ParseProtocol(text.str(), argv[i]);
    if (!protocol) {
      fmt::print("{}\n", protocol.error().Text());
      return 2;
    }
    for (const Mutant& mutant : Mutants(*protocol))
      Compare(mutant, std::strtoull(argv[1], nullptr, 10), count);
  }
  fmt::print(
      "{} mutants, {} with a hazard, {} too large, {} differ; {} states, at most {} searched\n",
      count.mutants, count.faulty, count.too_large, count.differ, count.states,
      count.most_searched);
  return count.differ == 0 && count.mutants > count.too_large ? 0 : 1;
}

}  // namespace
}  // namespace ss::pipeline

int main(int argc, char** argv) { return ss::pipeline::Main(argc, argv); }
