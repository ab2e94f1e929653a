// The analysis of one watched process, record by record: importer and engine put together. Used on
// a live process and on a trace file alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "src/base/result.h"
#include "src/cli/analysed.h"
#include "src/cli/options.h"
#include "src/explain/analyse.h"
#include "src/import/importer.h"
#include "src/kernels/registry.h"
#include "src/program/finding.h"
#include "src/trace/record.h"

namespace ss {

AnalyseOptions EngineOptions(const ReportOptions& options);

class ProcessAnalysis : private ImportSink {
 public:
  // `live`: the program runs. Then a kernel is waited for this long at most, counted from its first
  // launch; in a finished trace until the analysis is through, so that the report is the same each
  // time.
  static constexpr std::chrono::milliseconds kLivePatience{2500};

  ProcessAnalysis(const AnalyseOptions& options, bool live);

  // In order of seq_before. A launch whose kernel is still being analysed is parked, with
  // everything behind it, until the summary is there or `patience` is over.
  void Feed(const trace::Record& record);
  size_t hazards() const { return engine_.hazards(); }
  const ProcessInfo& process() const { return importer_.process(); }

  // Judges all that was fed, numbers up to `seq`: waits for kernels, lets held operations out.
  void Settle(uint64_t seq);
  OpId last_op() const { return engine_.last_op(); }
  // The report as if the process ended here, without coverage; see Analysis::SoFar.
  Report SoFar() const { return engine_.SoFar(); }
  // With what was seen of the process; stack ids are the trace's own.
  Analysed Finish();
  const Analysis& engine() const { return engine_; }
  // What this process asked of other ranks up to here; the report has the coverage only. A kernel
  // that is waited for is waited for no longer.
  Analysed RankSoFar();
  ProcessStacks Stacks() const;

 private:
  void OnOp(const Op& op, std::span<const Access> accesses) override {
    engine_.Feed(op, accesses.data());
  }

  RankCalls Calls() const;
  // Feeds what need not wait; `all`: waits for what must.
  void Unpark(bool all);
  bool MayGo(const trace::Record& record, bool wait);

  static constexpr size_t kMaxParked = size_t{1} << 18;  // records

  const bool live_;
  kernels::Registry kernels_;
  std::deque<trace::Record> parked_;
  Program names_;  // strings only; the operations are the engine's
  Importer importer_;
  Analysis engine_;
};

// One trace file, from its first record to its end or to where it is cut. What is missing is in the
// report's coverage. `then` gets what was analysed before it goes away. Errors: not a trace.
Result<Analysed> AnalyseTraceFile(const std::string& path, const AnalyseOptions& options,
                                  const std::function<void(const Analysis&)>& then = {});

// The inputs of one share, in their order. On as many threads as there are processors; each thread
// has one input in memory as a whole. `then` gets what was analysed before it goes away, and what
// its stack ids will be moved by: one input after the other.
using ThenAnalysis = std::function<void(const Analysis&, StackId)>;
std::vector<Part> AnalyseShare(const std::vector<std::string>& files, const AnalyseOptions& engine,
                               Share share, const ThenAnalysis& then = {});
// One report over all inputs, or the first failure. Errors name the file. With `unreadable`, what
// cannot be read goes there and into the report's coverage, and only nothing that can be read is an
// error.
Result<Report> JoinParts(std::vector<Part> parts, Symboliser& symbols,
                         std::vector<Error>* unreadable = nullptr);
// What `streamsan check` does before it prints, by this process alone.
Result<Report> AnalyseInputs(const CheckCommandOptions& options, Symboliser& symbols,
                             const ThenAnalysis& then = {});

}  // namespace ss
