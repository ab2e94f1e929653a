// `streamsan ablate`: which waits of a trace or litmus file are needed, and for what.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "src/cli/inputs.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/litmus/litmus.h"
#include "src/report/ablation.h"

namespace ss {
namespace {

struct Ablated {
  Report report;
  Ablation ablation;
};

AblateOptions EngineOptionsOf(const AblateCommandOptions& options) {
  AblateOptions ablate;
  ablate.min_confidence = options.min_confidence.value_or(Confidence::kLikely);
  ablate.max_replayed = options.budget * 1'000'000;
  if (isatty(STDERR_FILENO)) {
    ablate.progress = [](size_t tried, size_t of) {
      fmt::print(stderr, "\r{} of {} waits tried{}", tried, of, tried == of ? "\n" : "");
      std::fflush(stderr);
    };
  }
  return ablate;
}

Result<Ablated> AblateLitmus(const std::string& path, const AnalyseOptions& engine,
                             const AblateOptions& options) {
  Result<std::string> text = ReadWholeFile(path);
  if (!text) return tl::unexpected(text.error());
  Result<LitmusFile> file = ParseLitmus(*text, path);
  if (!file) return tl::unexpected(file.error());
  Analysis analysis(file->program, engine);
  for (const Op& op : file->program.ops) {
    analysis.Feed(op, file->program.accesses.data() + op.access_begin);
  }
  Ablated out;
  out.report = analysis.Finish();
  Result<Ablation> ablation = analysis.Ablate(options);
  if (!ablation) return tl::unexpected(ablation.error());
  out.ablation = std::move(*ablation);
  return out;
}

Result<Ablated> AblateTrace(const std::string& path, const AnalyseOptions& engine,
                            const AblateOptions& options, Symboliser& symbols) {
  StackId stacks = 0;
  Result<Ablation> ablation = Fail(path, "nothing in it");
  Result<Report> report =
      AnalyseTraceFile(path, engine, symbols, stacks,
                       [&](const Analysis& analysis) { ablation = analysis.Ablate(options); });
  if (!report) return tl::unexpected(report.error());
  if (!ablation) return tl::unexpected(ablation.error());
  return Ablated{std::move(*report), std::move(*ablation)};
}

}  // namespace

int AblateCommand(const AblateCommandOptions& options) {
  AnalyseOptions engine;
  engine.strict = options.strict;
  engine.verify = false;
  Symboliser symbols;
  Result<Ablated> ablated =
      HasSuffix(options.path, ".litmus")
          ? AblateLitmus(options.path, engine, EngineOptionsOf(options))
          : AblateTrace(options.path, engine, EngineOptionsOf(options), symbols);
  if (!ablated) return Complain(ablated.error());
  const AblationInput input{ablated->ablation, ablated->report, symbols};
  fmt::print("{}",
             options.format == Format::kJson ? PrintAblationJson(input) : PrintAblationText(input));
  return kExitOk;
}

}  // namespace ss
