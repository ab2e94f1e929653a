// What the command line says, as plain data. One struct a group of options; main.cc fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/program/finding.h"

namespace ss {

// Exit codes of the contract. Beside them: the watched program's own code, 128 + signal.
constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;    // litmus: an expectation is not met
constexpr int kExitUsage = 2;     // wrong usage, unreadable or malformed input
constexpr int kExitCoverage = 3;  // --require-coverage
constexpr int kExitHazard = 66;   // --error-exitcode

enum class Format : uint8_t { kText, kJson, kHtml, kSarif, kPerfetto };

// How an analysis judges and how its result is shown; shared by run and check.
struct ReportOptions {
  Format format = Format::kText;
  std::string report_file;  // "" = stderr
  std::string suppressions_file;
  std::string gen_suppressions;  // "" = none are written
  std::string baseline_file;
  std::optional<Confidence> min_confidence;
  uint64_t print_limit = 100;
  bool strict = false;  // no edge from unknown CPU synchronisation (rule 3)
  int error_exitcode = kExitHazard;
  int require_coverage = -1;  // percent, -1 = not asked for
};

// A finding of an earlier run that is put to the test.
struct ConfirmOptions {
  std::string id;             // "" = none
  std::string trace;          // --from: the recording that has it
  uint64_t hold_seconds = 5;  // --hold
};

struct RunCommandOptions {
  ReportOptions report;
  ConfirmOptions confirm;
  std::string output;     // -o: a file or a directory for traces, "" = none kept
  std::string allocator;  // --allocator: for the PyTorch plug-in, "" = only observe
  bool analyse = true;    // false: record
  bool breadcrumbs = false;
  std::vector<std::string> command;
};

struct CheckCommandOptions {
  ReportOptions report;
  bool verify = true;  // look for fixes
  std::vector<std::string> paths;
};

struct LitmusCommandOptions {
  bool strict = false;
  std::vector<std::string> paths;
};

struct DumpCommandOptions {
  std::string path;
};

struct KernelsCommandOptions {
  Format format = Format::kText;
  bool cache = true;  // look summaries up on disk and keep new ones there
  std::string path;   // a cubin, a fat binary, a program or a library
};

struct AblateCommandOptions {
  Format format = Format::kText;
  std::optional<Confidence> min_confidence;
  bool strict = false;
  uint64_t budget = 25;  // millions of operations replayed at most
  std::string path;      // a trace or a litmus file
};

struct ExplainCommandOptions {
  ReportOptions report;
  std::string path;  // as for check
  std::string id;    // alias or the first digits of an id
};

struct WhatIfCommandOptions {
  ReportOptions report;
  std::string path;                      // a trace or a litmus file
  std::vector<std::string> add, remove;  // see src/explain/what_if.h
  bool once = false;
  bool first_fixes = false;
};

struct DiffCommandOptions {
  ReportOptions report;
  std::string before, after;  // traces, litmus files or JSON reports
};

struct PipelineCommandOptions {
  ReportOptions report;
  uint64_t max_states = 200'000;   // of the search where a protocol is not safe
  std::vector<std::string> paths;  // .pipe, or recordings (.sslog)
};

struct WatchCommandOptions {
  ReportOptions report;
  std::string output;     // directory of the recordings, "" = none kept
  uint32_t launches = 8;  // watched of each kernel
  uint32_t blocks = 32;   // watched of each launch
  uint32_t log_mb = 64;   // of a context
  uint32_t hang_seconds = 10;
  std::vector<std::string> command;
};

struct HangCommandOptions {
  std::string path;  // a GPU core dump
};

// One command each, in the file of its name. All return an exit code.
int RunCommand(const RunCommandOptions& options);
int CheckCommand(const CheckCommandOptions& options);
int LitmusCommand(const LitmusCommandOptions& options);
int DumpCommand(const DumpCommandOptions& options);
int KernelsCommand(const KernelsCommandOptions& options);
int PipelineCommand(const PipelineCommandOptions& options);
int PipelineWatchCommand(const WatchCommandOptions& options);
int WhatIfCommand(const WhatIfCommandOptions& options);
int DiffCommand(const DiffCommandOptions& options);
int ExplainCommand(const ExplainCommandOptions& options);
int AblateCommand(const AblateCommandOptions& options);
int HangCommand(const HangCommandOptions& options);
int DoctorCommand();

}  // namespace ss
