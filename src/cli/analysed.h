// What the analysis of one input leaves: plain data, and the putting together of several.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "src/base/result.h"
#include "src/detect/collectives.h"
#include "src/explain/analyse.h"
#include "src/import/joint.h"
#include "src/program/collectives.h"
#include "src/program/finding.h"
#include "src/program/shared.h"
#include "src/report/symbols.h"

namespace ss {

class ProcessAnalysis;

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
  std::vector<SharedThing> shared;
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

// Whose rank its operations are. `among`: of several, so that lanes are named with it.
void SetRank(Report& report, uint32_t rank, bool among);
// Forgets the stacks that nothing refers to, and numbers the others from 1.
void KeepReferenced(Analysed& analysed);
// Of several inputs, each one's stack ids are moved by the sum of those before it.
StackId HighestStack(const ProcessStacks& stacks);

// The analysis of the input at a position, with all its operations; `analysed` becomes what it
// left, with all its stacks. Null: it cannot be had.
using WholeOf = std::function<const ProcessAnalysis*(size_t position, Analysed& analysed)>;

// Null also where not all of its operations are kept.
const ProcessAnalysis* KeptWhole(const WholeOf& whole_of, size_t position,
                                 std::vector<Analysed>& inputs);
// Of what JoinPrograms made. `then` gets the analysis before it goes away.
Report AnalyseJoint(const Program& program, const AnalyseOptions& options,
                    const std::function<void(const Analysis&)>& then = {});

struct JoinOptions {
  CollectiveOptions collectives = {};
  AnalyseOptions engine = {};
  WholeOf whole_of = {};  // empty: processes that share memory are not judged together
  // Gets the analysis of all inputs as one program, where they share memory.
  std::function<void(const Analysis&)> then = {};
};

// One report over several inputs: what ranks owe each other first, then findings and advice one
// input after the other, each with its source; those of processes that share memory come from their
// being judged together (shared.cc). Coverage and statistics are added up. The stacks go to
// `symbols`. An empty list gives an empty report.
Report Join(std::vector<Analysed> inputs, const JoinOptions& options, Symboliser& symbols);

// Those of processes that are judged together, by position; the stacks' offsets come with them.
struct Together {
  std::vector<size_t> members;
  std::vector<const ProcessAnalysis*> wholes;
  std::vector<SharingPair> pairs;  // processes by position among the members
};
// Which inputs share something, and are small enough to be judged together; the others' notes say
// what of them is not known.
std::vector<Together> FindSharing(std::vector<Analysed>& inputs, const WholeOf& whole_of);
// Judges them, and puts the result in the place of their own. `stacks_from` by position.
void JudgeTogether(const Together& group, const std::vector<StackId>& stacks_from,
                   const JoinOptions& options, std::vector<Analysed>& inputs);
// Whether the coverage says that there is memory of other processes, too, without their traces.
bool LacksProcesses(const Coverage& coverage);

// Withdraws hazards of ranks whose operations are in order by way of another rank's NCCL calls, but
// for the inputs `without`; notes say of how many, or why that was not followed.
void WithdrawOrdered(const WholeOf& whole_of, const AnalyseOptions& options,
                     const std::set<size_t>& without, std::vector<Analysed>& inputs);

}  // namespace ss
