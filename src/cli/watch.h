// The processes of one watched run: what is done with the records of each, and the report at the
// end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/cli/answers.h"
#include "src/cli/process_analysis.h"
#include "src/trace/collector.h"
#include "src/trace/sink.h"

namespace ss {

struct WatchOptions {
  bool analyse = true;
  AnalyseOptions engine;
  std::string output;  // -o, "" = no trace is kept
  uint64_t max_trace_bytes = 0;
  std::string answers;  // folder for what the program asks, "" = none
  // Called in the drain thread when the first hazard of a process appears; may be empty.
  std::function<void()> on_first_hazard;
  // Ranks that have issued no collective for this long, and lack counterparts, wait for nobody.
  std::chrono::seconds stalled_after{30};
  // Called in the drain thread when collectives have stood still for a while, with what ranks owe
  // each other so far; may be empty.
  std::function<void(const Report& report, Symboliser& symbols)> on_stall;
};

class Watch {
 public:
  // Makes the output folder. Errors: it cannot be made.
  static Result<std::unique_ptr<Watch>> Create(WatchOptions options);

  // For Collector::make_sinks: called in the drain thread.
  trace::Sinks MakeSinks(const trace::ProcessInfo& process);

  // After the collector has stopped. One report over all processes; without any, its coverage says
  // so.
  Report Finish(const std::vector<std::string>& command, Symboliser& symbols);
  // One line a kept trace: how much is in it, where.
  std::vector<std::string> TraceLines() const;
  size_t processes() const { return watched_.size(); }
  // False where a trace was asked for and lacks records, or is not there at all.
  bool kept_all() const;

 private:
  struct Watched {
    trace::ProcessInfo info;
    std::unique_ptr<ProcessAnalysis> analysis;
    std::unique_ptr<Answers> answers;
    std::shared_ptr<trace::TraceWriter> writer;
    trace::ProcessEnding ending;
    uint64_t late = 0, malformed = 0;
    bool found = false;
    std::string trouble;  // why there is no trace file
  };

  explicit Watch(WatchOptions options) : options_(std::move(options)) {}
  void AddTraceSink(Watched& watched, trace::Sinks& sinks);
  void AddAnalysis(Watched& watched, trace::Sinks& sinks);
  void LookForStall();
  Report RanksSoFar(Symboliser& symbols);
  static void AddGaps(const Watched& watched, Coverage& coverage);

  WatchOptions options_;
  bool folder_ = false;
  std::set<std::string> told_;  // findings about collectives, while the program ran
  // Of the collectives of all processes.
  std::chrono::steady_clock::time_point last_call_;
  enum class Calls : uint8_t { kNone, kGoOn, kQuiet, kStalled } calls_ = Calls::kNone;
  std::vector<std::unique_ptr<Watched>> watched_;
};

}  // namespace ss
