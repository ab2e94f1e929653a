// `streamsan check`: traces, directories of traces, litmus files; one report over all. Inputs are
// analysed side by side, by threads and, under mpirun, by processes; they are put together in their
// order, so that the report does not depend on who was first.
#include "src/cli/fellows.h"
#include "src/cli/inputs.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"

namespace ss {
namespace {

// What cannot be read is the worst of all outcomes: nobody knows what it holds.
int PrintJoined(const CheckCommandOptions& options, const std::vector<std::string>& files,
                const AnalyseOptions& engine, std::vector<Part> parts) {
  Result<Output> output = Output::Open(options.report);
  if (!output) return Complain(output.error());
  Symboliser symbols;
  std::vector<Error> unreadable;
  Result<Report> report = JoinParts(std::move(parts), files, engine, symbols, &unreadable);
  for (const Error& error : unreadable) Complain(error);
  if (!report) return Complain(report.error());
  Result<void> printed = output->Print(*report, symbols);
  if (!printed) return Complain(printed.error());
  return unreadable.empty() ? output->ExitCode(kExitOk) : kExitUsage;
}

}  // namespace

int CheckCommand(const CheckCommandOptions& options) {
  Fellows fellows;
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".sst"});
  AnalyseOptions engine = EngineOptions(options.report);
  engine.verify = options.verify;
  std::vector<Part> parts;
  if (files) parts = AnalyseShare(*files, engine, fellows.share());
  parts = fellows.Gather(std::move(parts));
  if (!fellows.First()) return fellows.End(kExitOk);
  return fellows.End(files ? PrintJoined(options, *files, engine, std::move(parts))
                           : Complain(files.error()));
}

}  // namespace ss
