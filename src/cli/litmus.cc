// `streamsan litmus`: files against their own expect lines, one line a file, the count last.
#include <fmt/format.h>

#include "src/cli/inputs.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/explain/analyse.h"
#include "src/litmus/runner.h"
#include "src/pipeline/runner.h"

namespace ss {
namespace {

using Status = LitmusOutcome::Status;

const char* Word(Status status) {
  switch (status) {
    case Status::kPassed:
      return "pass";
    case Status::kSkipped:
      return "skip";
    default:
      return "FAIL";
  }
}

struct Count {
  uint64_t passed = 0, failed = 0, skipped = 0;
  bool malformed = false;

  void Add(Status status) {
    passed += status == Status::kPassed;
    skipped += status == Status::kSkipped;
    failed += status == Status::kFailed || status == Status::kMalformed;
    malformed = malformed || status == Status::kMalformed;
  }
};

void PrintOutcome(const std::string& path, const LitmusOutcome& outcome) {
  fmt::print("{}  {}\n", Word(outcome.status), path);
  for (const std::string& message : outcome.messages) fmt::print("      {}\n", message);
}

}  // namespace

int LitmusCommand(const LitmusCommandOptions& options) {
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".litmus", ".pipe"});
  if (!files) return Complain(files.error());
  AnalyseOptions analyse;
  analyse.strict = options.strict;
  analyse.keep_absorbed = true;  // an expect line may name one
  LitmusOptions run;
  run.strict = options.strict;
  run.rules = ModelledLaterRules();
  Count count;
  for (const std::string& path : *files) {
    auto engine = [&](const Program& program) { return AnalyseProgram(program, analyse); };
    LitmusOutcome outcome =
        HasSuffix(path, ".pipe") ? pipeline::RunPipeFile(path) : RunLitmusFile(path, engine, run);
    count.Add(outcome.status);
    PrintOutcome(path, outcome);
  }
  std::string skipped = count.skipped ? fmt::format(", {} skipped", count.skipped) : "";
  fmt::print("{} passed, {} failed{}\n", count.passed, count.failed, skipped);
  return count.malformed ? kExitUsage : count.failed ? kExitFailed : kExitOk;
}

}  // namespace ss
