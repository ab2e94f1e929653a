// `streamsan ablate`: which waits of a trace or litmus file are needed, and for what.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/report/ablation.h"

namespace ss {
namespace {

AblateOptions EngineOptionsOf(const AblateCommandOptions& options) {
  AblateOptions ablate;
  ablate.min_confidence = options.min_confidence.value_or(Confidence::kLikely);
  ablate.max_replayed = options.budget * 1'000'000;
  if (isatty(STDERR_FILENO)) {
    ablate.progress = [](size_t tried, size_t of) {
      Tell(fmt::format("\r{} of {} waits tried{}", tried, of, tried == of ? "\n" : ""));
    };
  }
  return ablate;
}

}  // namespace

int AblateCommand(const AblateCommandOptions& options) {
  CheckCommandOptions check;
  check.report.strict = options.strict;
  check.report.min_confidence = options.min_confidence;
  check.verify = false;
  check.paths = {options.path};
  Symboliser symbols;
  Result<Ablation> ablation = Fail(options.path, "nothing in it");
  Result<Report> report = AnalyseProgram(check, symbols, [&](const Analysis& analysis) {
    ablation = analysis.Ablate(EngineOptionsOf(options));
  });
  if (!report) return Complain(report.error());
  if (!ablation) return Complain(ablation.error());
  const AblationInput input{*ablation, *report, symbols};
  fmt::print("{}",
             options.format == Format::kJson ? PrintAblationJson(input) : PrintAblationText(input));
  return kExitOk;
}

}  // namespace ss
