// The analysis of one watched process, record by record: importer and engine put together. Used on
// a live process and on a trace file alike.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/result.h"
#include "src/cli/options.h"
#include "src/explain/analyse.h"
#include "src/import/importer.h"
#include "src/program/finding.h"
#include "src/report/symbols.h"
#include "src/trace/record.h"

namespace ss {

AnalyseOptions EngineOptions(const ReportOptions& options);

class ProcessAnalysis : private ImportSink {
 public:
  explicit ProcessAnalysis(const AnalyseOptions& options);

  // In order of seq_before.
  void Feed(const trace::Record& record) { importer_.Feed(record, *this); }
  void Advance(uint64_t seq) { importer_.Advance(seq, *this); }
  size_t hazards() const { return engine_.hazards(); }
  const ProcessInfo& process() const { return importer_.process(); }

  // The report, with what was seen of the process; stack ids are the trace's own.
  Report Finish();
  // Adds the process's images and stacks, ids moved by `offset`; returns the highest id used.
  StackId AddStacksTo(Symboliser& symbols, StackId offset) const;

 private:
  void OnOp(const Op& op, std::span<const Access> accesses) override {
    engine_.Feed(op, accesses.data());
  }

  Program names_;  // strings only; the operations are the engine's
  Importer importer_;
  Analysis engine_;
};

// One trace file, from its first record to its end or to where it is cut. What is missing is in the
// report's coverage. `symbols` and `stacks` (highest stack id so far) grow. Errors: not a trace.
Result<Report> AnalyseTraceFile(const std::string& path, const AnalyseOptions& options,
                                Symboliser& symbols, StackId& stacks);

}  // namespace ss
