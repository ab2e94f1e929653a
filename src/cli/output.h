// From reports to what is printed and to an exit code.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/cli/options.h"
#include "src/program/finding.h"
#include "src/report/select.h"
#include "src/report/suppressions.h"
#include "src/report/symbols.h"

namespace ss {

// To stderr. Where nobody reads it, it is lost, and the command goes on.
void Tell(const std::string& text);

// `streamsan: PLACE: MESSAGE (REMEDY)` on stderr; returns kExitUsage.
int Complain(const Error& error);
// For commands that do nothing but analyse: says what a program takes long for which they wait, and
// takes it along when a signal ends them.
void WatchPrograms();

class Output {
 public:
  // Reads the suppressions and the baseline. Errors: one cannot be read, or what stands in it; a
  // file cannot be written that the report shall go to, so that no run is made in vain.
  static Result<Output> Open(const ReportOptions& options);

  // One report a command; several inputs are merged first. Error: it cannot be written; then its
  // text stands on stderr.
  Result<void> Print(const Report& report, Symboliser& symbols);

  // By the contract: hazards, then `program` (0 where there is none), then coverage.
  int ExitCode(int program) const;

 private:
  explicit Output(const ReportOptions& options) : options_(options) {}

  Result<void> Write(const Selection& selection, const Report& report, Symboliser& symbols) const;
  Result<void> WriteSuppressions(const Selection& selection, Symboliser& symbols) const;

  ReportOptions options_;
  std::vector<Suppression> suppressions_;
  std::set<std::string> baseline_;
  uint64_t hazards_ = 0;
  int coverage_ = 100;
};

// To the file, else to stderr. Error: it cannot be written.
Result<void> WriteReport(const std::string& text, const std::string& file);

// Writes `text` to the file. Errors name it and the reason.
Result<void> WriteWholeFile(const std::string& path, const std::string& text);

}  // namespace ss
