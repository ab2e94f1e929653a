// `streamsan run` and `streamsan record`: the program with the capture library preloaded, its
// records drained and analysed here while it runs.
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "src/cli/answers.h"
#include "src/cli/child.h"
#include "src/cli/confirm.h"
#include "src/cli/environment.h"
#include "src/cli/installation.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/watch.h"
#include "src/report/print.h"

namespace ss {
namespace {

constexpr uint64_t kDefaultTraceMb = 1024;
constexpr char kNcclPlugInVariable[] = "NCCL_PROFILER_PLUGIN";
// How long processes that outlive the program itself are still watched.
constexpr std::chrono::seconds kStragglers{5};

// What the program's environment says beside the options.
struct Wishes {
  std::string answers;  // folder, "" = none
  std::optional<PlannedTrial> trial;
};

Result<Launch> PrepareLaunch(const RunCommandOptions& options, const std::string& socket,
                             const Wishes& wishes) {
  Result<std::string> library = FindCaptureLibrary();
  if (!library) return tl::unexpected(library.error());
  Launch launch{options.command, {}};
  launch.environment = {{"LD_PRELOAD", PreloadValue(std::getenv("LD_PRELOAD"), *library)},
                        {trace::kSocketVariable, socket}};
  // For an NCCL that is linked into the program. One that the user chose stays.
  if (!std::getenv(kNcclPlugInVariable)) {
    launch.environment.emplace_back(kNcclPlugInVariable, *library);
  }
  if (options.breadcrumbs) launch.environment.emplace_back("STREAMSAN_BREADCRUMBS", "1");
  if (!wishes.answers.empty()) launch.environment.emplace_back(kAnswersVariable, wishes.answers);
  if (wishes.trial)
    launch.environment.emplace_back(trace::kTrialVariable, PlanText(wishes.trial->plan));
  if (!options.allocator.empty()) {
    launch.environment.emplace_back("STREAMSAN_ALLOCATOR", options.allocator);
  }
  std::string site = FindPythonSite();
  if (!site.empty()) {
    launch.environment.emplace_back("PYTHONPATH", PythonPathValue(std::getenv("PYTHONPATH"), site));
  }
  return launch;
}

int RunUnwatched(const RunCommandOptions& options) {
  Tell(fmt::format("streamsan: disable=1 in STREAMSAN_OPTIONS: the program runs unwatched, {}\n",
                   options.analyse ? "there will be no report" : "nothing is recorded"));
  Result<pid_t> pid = StartProgram({options.command, {}});
  return pid ? WaitForProgram(*pid) : Complain(pid.error());
}

// Starts the program, lives through it, and stops the collector. The program's exit code.
Result<int> Live(const RunCommandOptions& options, Watch& watch, const Wishes& wishes,
                 std::atomic<pid_t>& program) {
  trace::CollectorOptions collector_options;
  collector_options.make_sinks = [&](const trace::ProcessInfo& info) {
    return watch.MakeSinks(info);
  };
  auto collector = trace::Collector::Start(collector_options);
  if (!collector) return tl::unexpected(collector.error());
  Result<Launch> launch = PrepareLaunch(options, (*collector)->socket_name(), wishes);
  if (!launch) return tl::unexpected(launch.error());
  Result<pid_t> pid = StartProgram(*launch);
  if (!pid) return tl::unexpected(pid.error());
  program = *pid;
  int code = WaitForProgram(*pid);
  program = 0;
  (*collector)->WaitUntilIdle(kStragglers);
  (*collector)->Stop();
  return code;
}

// While the program hangs: the report itself comes when it has ended.
void TellStall(const ReportOptions& options, const Report& report, Symboliser& symbols) {
  SelectOptions select;
  select.min_confidence = options.min_confidence.value_or(Confidence::kLikely);
  const Selection selection = Select(report, std::move(select), symbols);
  if (selection.hazards.empty()) return;
  Tell("streamsan: the ranks have issued no collective for a while, and disagree:\n" +
       PrintText({report, selection, symbols}, {}));
}

WatchOptions MakeWatchOptions(const RunCommandOptions& options, const Environment& environment,
                              const std::string& answers, std::atomic<pid_t>& program) {
  WatchOptions watch;
  watch.analyse = options.analyse;
  watch.engine = EngineOptions(options.report);
  watch.output = options.output;
  if (options.analyse) watch.answers = answers;
  uint64_t megabytes = environment.max_trace_mb ? environment.max_trace_mb : kDefaultTraceMb;
  watch.max_trace_bytes = megabytes << 20;
  watch.stalled_after = std::chrono::seconds(environment.stall_seconds);
  watch.on_stall = [&options](const Report& report, Symboliser& symbols) {
    TellStall(options.report, report, symbols);
  };
  if (environment.halt_on_error) {
    watch.on_first_hazard = [&program] {
      if (pid_t pid = program.load()) kill(pid, SIGTERM);
    };
  }
  return watch;
}

int Finish(const RunCommandOptions& options, Watch& watch, const Wishes& wishes, Output& output,
           int code) {
  for (const std::string& line : watch.TraceLines()) Tell("streamsan: " + line + "\n");
  if (!options.analyse) {
    if (!watch.processes()) Tell("streamsan: no process used the CUDA driver; no trace\n");
    return code == 0 && !watch.kept_all() ? kExitUsage : code;
  }
  Symboliser symbols;
  Report report = watch.Finish(options.command, symbols);
  if (wishes.trial) NameTrials(*wishes.trial, report, symbols);
  Result<void> printed = output.Print(report, symbols);
  if (!printed) return Complain(printed.error());
  return output.ExitCode(code);
}

}  // namespace

int RunCommand(const RunCommandOptions& options) {
  Result<Environment> environment = ParseEnvironment(std::getenv("STREAMSAN_OPTIONS"));
  if (!environment) return Complain(environment.error());
  if (environment->disable) return RunUnwatched(options);
  Wishes wishes;
  if (!options.confirm.id.empty()) {
    Result<PlannedTrial> trial = PlanTrial(options.confirm, options.report);
    if (!trial) return Complain(trial.error());
    wishes.trial = std::move(*trial);
  }
  Result<Output> output = Output::Open(options.report);
  if (!output) return Complain(output.error());
  Result<AnswerFolder> answers = AnswerFolder::Make();
  if (!answers) return Complain(answers.error());
  std::atomic<pid_t> program{0};
  auto watch = Watch::Create(MakeWatchOptions(options, *environment, answers->path(), program));
  if (!watch) return Complain(watch.error());
  if (options.analyse) wishes.answers = answers->path();
  Result<int> code = Live(options, **watch, wishes, program);
  if (!code) return Complain(code.error());
  return Finish(options, **watch, wishes, *output, *code);
}

}  // namespace ss
