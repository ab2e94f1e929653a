// The command line. Only this and mistakes.cc know CLI11; each command is a file of its own.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "src/cli/environment.h"
#include "src/cli/mistakes.h"
#include "src/cli/options.h"
#include "src/cli/output.h"

namespace ss {
namespace {

constexpr char kFooter[] =
    "Exit codes: 66 hazards (--error-exitcode), else the program's own or 128 + signal, else 3 "
    "coverage\n"
    "below --require-coverage, else 0; 2 wrong usage or unreadable input; litmus: 1 an expectation "
    "fails.\n";

constexpr char kUsage[] = "usage: streamsan run|record [OPTIONS] -- PROGRAM [ARGUMENTS]";

// Counts are whole and have bounds: 0 states, or -1 hazards, is a slip of the pen.
constexpr uint64_t kMaxCount = 1'000'000'000;

CLI::Option* AddCount(CLI::App* app, const std::string& name, uint64_t& count, uint64_t least,
                      const std::string& text) {
  return app->add_option(name, count, text)
      ->type_name("N")
      ->check(CLI::Range(least, kMaxCount))
      ->capture_default_str();
}

// Values that CLI11 hands over as words.
struct Words {
  std::string format = "text";
  std::string confidence;
  std::vector<std::string> program;
};

Format FormatOf(const std::string& word) {
  if (word == "json") return Format::kJson;
  if (word == "sarif") return Format::kSarif;
  if (word == "perfetto") return Format::kPerfetto;
  return word == "html" ? Format::kHtml : Format::kText;
}

void AddReportOptions(CLI::App* app, ReportOptions& options, Words& words) {
  app->add_option("--format", words.format, "text, json, html, sarif or perfetto")
      ->check(CLI::IsMember({"text", "json", "html", "sarif", "perfetto"}))
      ->capture_default_str();
  app->add_option("--report", options.report_file, "Write the report to FILE, not to stderr")
      ->type_name("FILE");
  AddCount(app, "--print-limit", options.print_limit, 0, "Spell out at most N hazards");
  app->add_option("--min-confidence", words.confidence,
                  "Least confidence shown: certain, likely or possible (default likely)")
      ->check(CLI::IsMember({"certain", "likely", "possible"}));
  app->add_option("--suppressions", options.suppressions_file, "File of lines CODE:GLOB")
      ->type_name("FILE");
  app->add_option("--gen-suppressions", options.gen_suppressions,
                  "Write a suppression for each hazard shown to FILE")
      ->type_name("FILE");
  app->add_option("--baseline", options.baseline_file,
                  "Hazards of this earlier JSON or SARIF report are known and do not count")
      ->type_name("FILE");
  app->add_flag("--strict", options.strict,
                "No order from CPU synchronisation that was not seen (docs/semantics.md, rule 3)");
  app->add_option("--error-exitcode", options.error_exitcode, "Exit code when there are hazards")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  // A flag with a value, so that it never swallows the word behind it:
  // --require-coverage[=PERCENT].
  app->add_flag("--require-coverage{100}", options.require_coverage,
                "Exit 3 when less than PERCENT (default 100) was seen and understood")
      ->check(CLI::Range(0, 100));
}

Result<void> FinishReportOptions(ReportOptions& options, const Words& words) {
  Result<Environment> environment = ParseEnvironment(std::getenv("STREAMSAN_OPTIONS"));
  if (!environment) return tl::unexpected(environment.error());
  options.format = FormatOf(words.format);
  options.min_confidence =
      words.confidence.empty() ? environment->min_confidence : ParseConfidence(words.confidence);
  options.strict = options.strict || environment->strict;
  return {};
}

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "streamsan " STREAMSAN_VERSION);
    app_.footer(kFooter + EnvironmentHelp());
    AddRun();
    AddCheck();
    AddLitmus();
    AddDump();
    AddKernels();
    AddPipeline();
    AddExplain();
    AddAblate();
    AddWhatIf();
    AddDiff();
    for (const char* name : {"run", "record", "check"}) {
      app_.get_subcommand(name)->footer(EnvironmentHelp());
    }
    auto* hang = app_.add_subcommand("hang", "Who waits for which mbarrier in a GPU core dump");
    hang->add_option("CORE", hang_.path, "Made by the CUDA driver while a kernel hangs")
        ->required();
    hang->callback([this] { exit_ = HangCommand(hang_); });
    app_.add_subcommand("doctor", "What this machine lets it see")->callback([this] {
      exit_ = DoctorCommand();
    });
  }

  int Parse(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const std::string command = words.empty() ? "" : words.front();
    if (TakesProgram(words)) {
      auto dashes = std::find(words.begin(), words.end(), "--");
      if (dashes != words.end()) behind_.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
    if (std::optional<Error> mistake = FindMistake(app_, words)) return Complain(*mistake);
    if (!TakesProgram(words)) WatchPrograms();
    try {
      std::reverse(words.begin(), words.end());  // as CLI11 wants them
      app_.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error), kExitOk;
      return Complain({"", error.what(), "see streamsan " + command + " --help"});
    }
    return exit_;
  }

 private:
  void AddRun() {
    auto* run =
        app_.add_subcommand("run", "Watch a program, report at its exit: run [OPTIONS] -- PROGRAM");
    AddReportOptions(run, run_.report, words_);
    run->add_option("-o,--output", run_.output, "Also keep the trace: FILE.sst or a directory");
    run->add_option(
           "--allocator", run_.allocator,
           "PyTorch's freed memory: hold it until the device is idle, or poison it with NaN")
        ->check(CLI::IsMember({"hold", "poison"}));
    run->add_flag("--breadcrumbs", run_.breadcrumbs,
                  "Mark each operation's end on its stream: a report of a hang says how far each "
                  "stream had come");
    AddConfirm(run);
    run->add_option("PROGRAM", words_.program, "With its arguments, behind --");
    run->callback([this] { Start(/*analyse=*/true); });

    auto* record =
        app_.add_subcommand("record", "Keep the trace only: record -o FILE|DIR -- PROGRAM");
    record->add_option("-o,--output", run_.output, "FILE.sst or a directory")->required();
    record->add_option("PROGRAM", words_.program, "With its arguments, behind --");
    record->callback([this] { Start(/*analyse=*/false); });
  }

  void AddConfirm(CLI::App* run) {
    ConfirmOptions& confirm = run_.confirm;
    auto* id = run->add_option("--confirm", confirm.id,
                               "Hold a hazard's first operation back: does the second overtake it?")
                   ->type_name("ID");
    auto* from = run->add_option("--from", confirm.trace, "The earlier run's trace that has ID")
                     ->type_name("FILE.sst");
    auto* hold = AddCount(run, "--hold", confirm.hold_seconds, 1, "Hold it N seconds at most");
    id->needs(from);
    from->needs(id);
    hold->needs(id);
  }

  // Everything behind the first `--` is the program's and never looked at.
  void Start(bool analyse) {
    run_.command = words_.program;
    run_.command.insert(run_.command.end(), behind_.begin(), behind_.end());
    run_.analyse = analyse;
    if (run_.command.empty()) {
      exit_ = Complain({"", "no program given", kUsage});
    } else if (Finish(run_.report)) {
      exit_ = RunCommand(run_);
    }
  }

  void AddCheck() {
    auto* check = app_.add_subcommand("check", "Analyse traces, directories of them, litmus files");
    AddReportOptions(check, check_.report, words_);
    check->add_option("PATH", check_.paths, ".sst, .litmus or a directory")->required();
    check->callback([this] {
      if (Finish(check_.report)) exit_ = CheckCommand(check_);
    });
  }

  void AddLitmus() {
    auto* litmus = app_.add_subcommand("litmus", "Files against their own expect lines");
    litmus->add_flag("--strict", litmus_.strict, "Strict mode for files that do not say");
    litmus->add_option("PATH", litmus_.paths, "Files or directories")->required();
    litmus->callback([this] { exit_ = LitmusCommand(litmus_); });
  }

  void AddDump() {
    auto* dump = app_.add_subcommand("dump", "Print the records of a trace");
    dump->add_option("FILE", dump_.path, "trace (.sst)")->required();
    dump->callback([this] { exit_ = DumpCommand(dump_); });
  }

  void AddKernels() {
    auto* kernels =
        app_.add_subcommand("kernels", "What GPU kernels read and write, by their code");
    kernels->add_option("FILE", kernels_.path, "trace, cubin, fat binary, program or library")
        ->required();
    kernels->add_option("--format", words_.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    kernels->add_flag("!--no-cache", kernels_.cache, "Analyse anew, keep nothing");
    kernels->callback([this] {
      kernels_.format = words_.format == "json" ? Format::kJson : Format::kText;
      exit_ = KernelsCommand(kernels_);
    });
  }

  void AddExplain() {
    auto* explain = app_.add_subcommand("explain", "One hazard on one screen");
    explain->add_option("FILE", explain_.path, "trace, litmus file or a directory of traces")
        ->required();
    explain->add_option("ID", explain_.id, "H1, or the first digits of a hazard's id")->required();
    explain->add_option("--format", words_.format, "text or html")
        ->check(CLI::IsMember({"text", "html"}))
        ->capture_default_str();
    explain
        ->add_option("--report", explain_.report.report_file,
                     "Write to FILE, not to standard output")
        ->type_name("FILE");
    explain->add_option("--min-confidence", words_.confidence, "As for check: it decides who is H1")
        ->check(CLI::IsMember({"certain", "likely", "possible"}));
    explain->add_flag("--strict", explain_.report.strict, "As for check");
    explain->callback([this] {
      if (Finish(explain_.report)) exit_ = ExplainCommand(explain_);
    });
  }

  void AddAblate() {
    auto* ablate = app_.add_subcommand("ablate", "Which waits are load-bearing, which redundant");
    ablate->add_option("FILE", ablate_.path, ".sst or .litmus")->required();
    ablate->add_option("--format", words_.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    ablate
        ->add_option("--min-confidence", words_.confidence,
                     "Least confidence of a hazard that counts (default likely)")
        ->check(CLI::IsMember({"certain", "likely", "possible"}));
    ablate->add_flag("--strict", ablate_.strict, "As for check");
    AddCount(ablate, "--budget", ablate_.budget, 1, "Replay at most N million operations");
    ablate->callback([this] {
      ReportOptions report;
      report.strict = ablate_.strict;
      if (!Finish(report)) return;
      ablate_.format = report.format;
      ablate_.min_confidence = report.min_confidence;
      ablate_.strict = report.strict;
      exit_ = AblateCommand(ablate_);
    });
  }

  void AddWhatIf() {
    auto* what_if = app_.add_subcommand("whatif", "Judge again with an edge more or a wait less");
    what_if->add_option("FILE", what_if_.path, ".sst or .litmus")->required();
    what_if
        ->add_option("--add", what_if_.add,
                     "FROM:TO, operation numbers; record_stream:BUFFER:STREAM")
        ->type_name("EDGE");
    what_if->add_option("--remove", what_if_.remove, "Operation number of a wait")
        ->type_name("WAIT");
    what_if->add_flag("--first-fixes", what_if_.first_fixes,
                      "The first fix of every hazard, together");
    what_if->add_flag("--once", what_if_.once, "There alone, not wherever the same places meet");
    AddJudging(what_if, what_if_.report);
    what_if->callback([this] {
      if (Finish(what_if_.report)) exit_ = WhatIfCommand(what_if_);
    });
  }

  void AddDiff() {
    auto* diff = app_.add_subcommand("diff", "What changed between two runs");
    diff->add_option("BEFORE", diff_.before, "trace, litmus file or JSON report")->required();
    diff->add_option("AFTER", diff_.after, "trace, litmus file or JSON report")->required();
    AddJudging(diff, diff_.report);
    diff->callback([this] {
      if (Finish(diff_.report)) exit_ = DiffCommand(diff_);
    });
  }

  // Options of the commands that print to standard output.
  void AddJudging(CLI::App* app, ReportOptions& report) {
    app->add_option("--format", words_.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    app->add_option("--min-confidence", words_.confidence,
                    "Least confidence of a hazard that counts (default likely)")
        ->check(CLI::IsMember({"certain", "likely", "possible"}));
    app->add_flag("--strict", report.strict, "As for check");
  }

  void AddPipeline() {
    auto* pipeline = app_.add_subcommand("pipeline", "mbarrier protocols inside a kernel");
    pipeline->require_subcommand(1);
    auto* check = pipeline->add_subcommand("check", "Verify a protocol for every schedule");
    check->add_option("PATH", pipeline_.paths, ".pipe files, recordings (.sslog) or directories")
        ->required();
    check->add_option("--format", words_.format, "text, json, html or sarif")
        ->check(CLI::IsMember({"text", "json", "html", "sarif"}))
        ->capture_default_str();
    ReportOptions& report = pipeline_.report;
    check->add_option("--report", report.report_file, "Write the report to FILE, not to stderr")
        ->type_name("FILE");
    AddCount(check, "--print-limit", report.print_limit, 0, "Spell out at most N hazards");
    check
        ->add_option("--min-confidence", words_.confidence,
                     "possible: also what a search that was cut off could only suspect")
        ->check(CLI::IsMember({"certain", "likely", "possible"}));
    AddCount(check, "--states", pipeline_.max_states, 1, "Search at most N states");
    check->add_option("--error-exitcode", report.error_exitcode, "Exit code when there are hazards")
        ->check(CLI::Range(0, 255))
        ->capture_default_str();
    check
        ->add_flag("--require-coverage{100}", report.require_coverage,
                   "Exit 3 when not every schedule was judged")
        ->check(CLI::Range(0, 100));
    check->callback([this] {
      pipeline_.report.format = FormatOf(words_.format);
      pipeline_.report.min_confidence = ParseConfidence(words_.confidence);
      exit_ = PipelineCommand(pipeline_);
    });
    AddPipelineWatch(pipeline);
  }

  void AddPipelineWatch(CLI::App* pipeline) {
    auto* watch =
        pipeline->add_subcommand("watch", "Watch a program's kernels: watch [OPTIONS] -- PROGRAM");
    ReportOptions& report = pipeline_watch_.report;
    watch->add_option("--format", words_.format, "text, json or sarif")
        ->check(CLI::IsMember({"text", "json", "sarif"}))
        ->capture_default_str();
    watch->add_option("--report", report.report_file, "Write the report to FILE, not to stderr")
        ->type_name("FILE");
    AddCount(watch, "--print-limit", report.print_limit, 0, "Spell out at most N hazards");
    watch->add_option("-o,--output", pipeline_watch_.output,
                      "Also keep the recordings: a directory");
    const auto number = [watch](const char* name, uint32_t& value, uint32_t most,
                                const char* text) {
      watch->add_option(name, value, text)
          ->type_name("N")
          ->check(CLI::Range(1U, most))
          ->capture_default_str();
    };
    number("--launches", pipeline_watch_.launches, 1U << 15,
           "Watch the first N launches of each kernel");
    number("--blocks", pipeline_watch_.blocks, 1U << 20,
           "Watch N blocks of a launch, spread over its grid");
    number("--log-mb", pipeline_watch_.log_mb, 4096, "Room for records");
    number("--hang-after", pipeline_watch_.hang_seconds, 3600,
           "Take N seconds of waiting without any event for a hang");
    watch->add_option("--error-exitcode", report.error_exitcode, "Exit code when there are hazards")
        ->check(CLI::Range(0, 255))
        ->capture_default_str();
    watch
        ->add_flag("--require-coverage{100}", report.require_coverage,
                   "Exit 3 when not every launch and block was watched")
        ->check(CLI::Range(0, 100));
    watch->add_option("PROGRAM", words_.program, "With its arguments, behind --");
    watch->callback([this] {
      pipeline_watch_.report.format = FormatOf(words_.format);
      pipeline_watch_.command = words_.program;
      pipeline_watch_.command.insert(pipeline_watch_.command.end(), behind_.begin(), behind_.end());
      exit_ = pipeline_watch_.command.empty()
                  ? Complain({"", "no program given",
                              "usage: streamsan pipeline watch [OPTIONS] -- PROGRAM [ARGUMENTS]"})
                  : PipelineWatchCommand(pipeline_watch_);
    });
  }

  bool Finish(ReportOptions& options) {
    Result<void> finished = FinishReportOptions(options, words_);
    if (!finished) exit_ = Complain(finished.error());
    return finished.has_value();
  }

  CLI::App app_{"StreamSan finds the synchronisation bugs of GPU programs from one ordinary run",
                "streamsan"};
  Words words_;
  std::vector<std::string> behind_;  // the words behind --
  RunCommandOptions run_;
  CheckCommandOptions check_;
  LitmusCommandOptions litmus_;
  DumpCommandOptions dump_;
  KernelsCommandOptions kernels_;
  PipelineCommandOptions pipeline_;
  WatchCommandOptions pipeline_watch_;
  HangCommandOptions hang_;
  ExplainCommandOptions explain_;
  AblateCommandOptions ablate_;
  WhatIfCommandOptions what_if_;
  DiffCommandOptions diff_;
  int exit_ = kExitOk;
};

}  // namespace
}  // namespace ss

// A descriptor that is closed would be given to the next file that is opened, and what is meant for
// a terminal would go there. Reading and writing fails as before, and the program finds it closed.
static void KeepStandardStreams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    open("/dev/null", (stream == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

// What a command could not print was lost: that is no success. {fmt} throws when standard output
// fails.
int main(int argc, char** argv) {
  KeepStandardStreams();
  int code = ss::kExitUsage;
  try {
    code = ss::CommandLine().Parse(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("streamsan: out of memory (give it fewer inputs at a time, or raise `ulimit -v`)\n",
               stderr);
    return ss::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "streamsan: %s\n", error.what());
    return ss::kExitUsage;
  }
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::fprintf(
      stderr,
      "streamsan: standard output: cannot be written (is the disk full, or its reader gone?)\n");
  return code == ss::kExitOk ? ss::kExitUsage : code;
}
