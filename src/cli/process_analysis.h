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
#include "src/cli/trails.h"
#include "src/explain/analyse.h"
#include "src/import/importer.h"
#include "src/import/joint.h"
#include "src/kernels/registry.h"
#include "src/program/finding.h"
#include "src/trace/record.h"

namespace ss {

AnalyseOptions EngineOptions(const ReportOptions& options);

// How long launches wait for the analysis of their kernels.
enum class Pace : uint8_t {
  kFinished,  // a trace: until it is through, so that the report is the same each time
  kRunning,   // a program: while there is room for what is behind them, and at its end for a while
  kPrompt,    // the same, to be told of a hazard soon: kPatience, from the kernel's first launch on
};

struct WaitLimit {
  std::chrono::steady_clock::time_point until;
  std::function<bool()> given_up = {};  // asked some times a second
};

class ProcessAnalysis : private ImportSink {
 public:
  // Also how long a question to a running program waits.
  static constexpr std::chrono::milliseconds kPatience{2500};
  static constexpr std::chrono::seconds kEndPatience{60};

  ProcessAnalysis(const AnalyseOptions& options, Pace pace);

  // In order of seq_before. A launch whose kernel is still being analysed is parked, with
  // everything behind it.
  void Feed(const trace::Record& record);
  // Of a process that leaves breadcrumbs; before any record.
  void Follow(std::shared_ptr<const trace::CrumbTable> crumbs) {
    trails_ = std::make_unique<Trails>(std::move(crumbs));
  }
  size_t hazards() const { return engine_.hazards(); }
  const ProcessInfo& process() const { return importer_.process(); }

  // Judges all that was fed, numbers up to `seq`: waits for kernels, lets held operations out.
  void Settle(uint64_t seq);
  OpId last_op() const { return engine_.last_op(); }
  // The report as if the process ended here, without coverage; see Analysis::SoFar.
  Report SoFar() const { return engine_.SoFar(); }
  // With what was seen of the process; stack ids are the trace's own. `limit` instead of the pace's
  // own: several processes that end together share one.
  Analysed Finish(const WaitLimit* limit = nullptr);
  const Analysis& engine() const { return engine_; }
  // For the joining of processes; points into this analysis.
  ProcessTape tape(uint32_t rank, StackId stacks_from) const {
    ProcessTape tape;
    tape.rank = rank;
    tape.stacks_from = stacks_from;
    tape.strings = &names_.strings;
    tape.shapes = &names_.shapes;
    tape.ops = &engine_.kept_ops();
    tape.accesses = &engine_.kept_accesses();
    tape.times = &times_;
    tape.shared = &importer_.shared();
    tape.flags = &importer_.flags();
    tape.ended_ns = process().ended_ns;
    return tape;
  }
  // What this process asked of other ranks up to here; the report has the coverage only. A kernel
  // that is waited for is waited for no longer.
  Analysed RankSoFar();
  ProcessStacks Stacks() const;

 private:
  void OnRecord(uint64_t number, uint64_t ns) override {
    number_ = number;
    if (ns > (times_.empty() ? 0 : times_.back().ns)) times_.push_back({engine_.kept(), ns});
  }
  void OnOp(const Op& op, std::span<const Access> accesses) override {
    engine_.Feed(op, accesses.data());
    if (trails_) trails_->Take(op, number_);
  }
  void TellTrails(Report& report);

  RankCalls Calls() const;
  // Feeds what need not wait. With a limit all of it: that long it waits for what must.
  void Unpark(const WaitLimit* limit);
  bool MayGo(const trace::Record& record, const WaitLimit* limit);
  void FeedFirstParked();
  void WaitForAll(std::chrono::milliseconds patience);

  static constexpr size_t kMaxParked = size_t{1} << 18;  // records

  const Pace pace_;
  kernels::Registry kernels_;
  std::deque<trace::Record> parked_;
  Program names_;  // strings and shapes only; the operations are the engine's
  Importer importer_;
  Analysis engine_;
  std::unique_ptr<Trails> trails_;  // null: none are left
  uint64_t number_ = 0;             // of the record that the next operation comes from
  std::vector<ProcessTape::Time> times_;
};

// One trace file, from its first record to its end or to where it is cut. What is missing is in the
// report's coverage. `then` gets what was analysed before it goes away. Errors: not a trace.
Result<Analysed> AnalyseTraceFile(const std::string& path, const AnalyseOptions& options,
                                  const std::function<void(const Analysis&)>& then = {});

// The same, into an analysis that is the caller's and stays; for Pace::kFinished.
Result<Analysed> AnalyseTraceFile(const std::string& path, ProcessAnalysis& analysis);

// The inputs of one share, in their order. On as many threads as there are processors; each thread
// has one input in memory as a whole. `then` gets what was analysed before it goes away, and what
// its stack ids will be moved by: one input after the other.
using ThenAnalysis = std::function<void(const Analysis&, StackId)>;
std::vector<Part> AnalyseShare(const std::vector<std::string>& files, const AnalyseOptions& engine,
                               Share share, const ThenAnalysis& then = {});
// One report over all inputs, or the first failure. Errors name the file. With `unreadable`, what
// cannot be read goes there and into the report's coverage, and only nothing that can be read is an
// error. The files of processes that share memory are analysed once more, to be judged together.
// `then` gets the analysis of all of them as one program, if that is what they are.
Result<Report> JoinParts(std::vector<Part> parts, const std::vector<std::string>& files,
                         const AnalyseOptions& engine, Symboliser& symbols,
                         std::vector<Error>* unreadable = nullptr,
                         const std::function<void(const Analysis&)>& then = {});
// What `streamsan check` does before it prints, by this process alone.
Result<Report> AnalyseInputs(const CheckCommandOptions& options, Symboliser& symbols,
                             const ThenAnalysis& then = {});
// The same of one program: one input, or several that share memory and so are one. `then` gets its
// analysis before it goes away. Error: they are several programs.
Result<Report> AnalyseProgram(const CheckCommandOptions& options, Symboliser& symbols,
                              const std::function<void(const Analysis&)>& then);

}  // namespace ss
