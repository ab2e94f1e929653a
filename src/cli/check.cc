// `streamsan check`: traces, directories of traces, litmus files; one report over all.
#include "src/base/file.h"
#include "src/cli/inputs.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/litmus/litmus.h"

namespace ss {
namespace {

// What a litmus file says is all that there is: its coverage is what the engine models of it.
void SetLitmusCoverage(Report& report, const LitmusFile& file) {
  Coverage& coverage = report.coverage;
  coverage.calls = coverage.calls_modelled = file.program.ops.size();
  for (const LitmusFile::Need& need : file.needs) {
    if (ModelledLaterRules().count(need.rule)) continue;
    coverage.complete = false;
    coverage.unmodelled.push_back(
        {"rule " + std::to_string(need.rule) + " (" + need.what + ")", 1});
  }
}

Result<Report> AnalyseLitmus(const std::string& path, const AnalyseOptions& options,
                             const ThenAnalysis& then) {
  Result<std::string> text = ReadText(path);
  if (!text) return tl::unexpected(text.error());
  Result<LitmusFile> file = ParseLitmus(*text, path);
  if (!file) return tl::unexpected(file.error());
  const Program& program = file->program;
  Analysis analysis(program, options, program.ops.size() * 64);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  Report report = analysis.Finish();
  if (then) then(analysis, 0);
  SetLitmusCoverage(report, *file);
  return report;
}

Result<Report> AnalyseInput(const std::string& path, const AnalyseOptions& engine,
                            Symboliser& symbols, StackId& stacks, const ThenAnalysis& then) {
  if (HasSuffix(path, ".pipe"))
    return Fail(path, "is a protocol inside a kernel", "see streamsan pipeline check");
  if (HasSuffix(path, ".litmus")) return AnalyseLitmus(path, engine, then);
  return AnalyseTraceFile(path, engine, symbols, stacks, then);
}

}  // namespace

Result<Report> AnalyseInputs(const CheckCommandOptions& options, Symboliser& symbols,
                             const ThenAnalysis& then, std::vector<Error>* unreadable) {
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".sst"});
  if (!files) return tl::unexpected(files.error());
  AnalyseOptions engine = EngineOptions(options.report);
  engine.verify = options.verify;
  StackId stacks = 0;
  std::vector<Report> reports;
  for (const std::string& path : *files) {
    Result<Report> report = AnalyseInput(path, engine, symbols, stacks, then);
    if (report) {
      reports.push_back(std::move(*report));
    } else if (unreadable) {
      unreadable->push_back(report.error());
    } else {
      return report;
    }
  }
  if (reports.empty()) {
    Error last = std::move(unreadable->back());
    unreadable->pop_back();
    return tl::unexpected(std::move(last));
  }
  Report merged = MergeReports(std::move(reports));
  if (!unreadable) return merged;
  for (const Error& error : *unreadable) {
    merged.coverage.complete = false;
    merged.coverage.notes.push_back("not analysed: " + error.Text());
  }
  return merged;
}

// What cannot be read is the worst of all outcomes: nobody knows what it holds.
int CheckCommand(const CheckCommandOptions& options) {
  Result<Output> output = Output::Open(options.report);
  if (!output) return Complain(output.error());
  Symboliser symbols;
  std::vector<Error> unreadable;
  Result<Report> report = AnalyseInputs(options, symbols, {}, &unreadable);
  for (const Error& error : unreadable) Complain(error);
  if (!report) return Complain(report.error());
  Result<void> printed = output->Print(*report, symbols);
  if (!printed) return Complain(printed.error());
  return unreadable.empty() ? output->ExitCode(kExitOk) : kExitUsage;
}

}  // namespace ss
