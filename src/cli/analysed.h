// What the analysis of one input leaves: plain data, and the putting together of several.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/result.h"
#include "src/detect/collectives.h"
#include "src/program/collectives.h"
#include "src/program/finding.h"
#include "src/report/symbols.h"

namespace ss {

// Call stacks of one process, with the images that they lead into.
struct ProcessStacks {
  struct Stack {
    StackId id = 0;
    std::vector<Frame> front;         // known already: an interpreter's
    std::vector<uint64_t> addresses;  // return addresses, innermost first
  };
  std::vector<ModuleMap> modules;
  std::vector<Stack> stacks;
};

void AddTo(Symboliser& symbols, ProcessStacks process);

struct Analysed {
  Report report;
  RankCalls calls;       // of a recorded process
  ProcessStacks stacks;  // ids as in both
};

// What has become of one input.
struct Part {
  uint64_t index = 0;  // among the inputs
  bool failed = false;
  Error error;
  Analysed analysed;
};

// Of inputs 0, 1, 2, ...: `number`, `number` + `of`, ...
struct Share {
  size_t number = 0, of = 1;
  size_t SizeOf(size_t all) const { return all > number ? (all - number - 1) / of + 1 : 0; }
};

// Forgets the stacks that nothing refers to, and numbers the others from 1.
void KeepReferenced(Analysed& analysed);
// Of several inputs, each one's stack ids are moved by the sum of those before it.
StackId HighestStack(const ProcessStacks& stacks);

// One report over several inputs: what ranks owe each other first, then findings and advice one
// input after the other, each with its source; coverage and statistics added up. The stacks go to
// `symbols`. An empty list gives an empty report.
Report Join(std::vector<Analysed> inputs, const CollectiveOptions& options, Symboliser& symbols);

}  // namespace ss
