#include "src/cli/output.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "src/base/file.h"
#include "src/kernels/process.h"
#include "src/report/baseline.h"
#include "src/report/coverage.h"
#include "src/report/html.h"
#include "src/report/perfetto.h"
#include "src/report/print.h"
#include "src/report/sarif.h"

namespace ss {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

tl::unexpected<Error> CannotWrite(const std::string& path) {
  return Fail(path, fmt::format("cannot be written: {}", std::strerror(errno)),
              "name a file in a folder that can be written");
}

bool WantsColour(bool to_stderr) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  if (terminal && std::strcmp(terminal, "dumb") == 0) return false;
  return to_stderr && isatty(STDERR_FILENO);
}

// Before the work is done, and without making the file.
Result<void> CheckWritable(const std::string& path) {
  if (path.empty()) return {};
  struct stat known {};
  errno = 0;
  if (stat(path.c_str(), &known) == 0) {
    if (S_ISDIR(known.st_mode)) errno = EISDIR;
    if (errno == 0 && access(path.c_str(), W_OK) == 0) return {};
  } else {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
    if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  }
  return CannotWrite(path);
}

}  // namespace

void Tell(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

static void TellSlow(const std::string& program, int seconds, int timeout_s) {
  Tell(
      fmt::format("streamsan: waits for {}, for {} s so far (it is given {} s; Ctrl-C ends both)\n",
                  program, seconds, timeout_s));
}

static void EndWithPrograms(int signal) {
  kernels::EndPrograms();
  raise(signal);  // blocked until this returns, and then as if it were not handled
}

void WatchPrograms() {
  kernels::TellOfSlowPrograms(TellSlow);
  struct sigaction action {};
  action.sa_handler = EndWithPrograms;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);  // nohup ignores one
  }
}

int Complain(const Error& error) {
  Tell(fmt::format("streamsan: {}\n", error.Text()));
  return kExitUsage;
}

Result<void> WriteWholeFile(const std::string& path, const std::string& text) {
  File file(std::fopen(path.c_str(), "wb"), std::fclose);
  bool written = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                 std::fflush(file.get()) == 0;
  if (written) return {};
  return CannotWrite(path);
}

// What is written replaces its file: it may not be one that is read, or written for something else.
// A baseline may be: the report that replaces it is the next one.
static Result<void> CheckApart(const ReportOptions& options) {
  struct Pair {
    const char *one, *other;
    const std::string &a, &b;
  };
  const Pair pairs[] = {
      {"--suppressions", "--gen-suppressions", options.suppressions_file, options.gen_suppressions},
      {"--suppressions", "--report", options.suppressions_file, options.report_file},
      {"--baseline", "--gen-suppressions", options.baseline_file, options.gen_suppressions},
      {"--report", "--gen-suppressions", options.report_file, options.gen_suppressions},
  };
  for (const Pair& pair : pairs) {
    std::error_code failed;
    if (pair.a.empty() || pair.b.empty()) continue;
    const auto a = std::filesystem::weakly_canonical(pair.a, failed);
    if (failed || a != std::filesystem::weakly_canonical(pair.b, failed)) continue;
    if (std::filesystem::exists(a, failed) && !std::filesystem::is_regular_file(a, failed))
      continue;
    return Fail(pair.b, fmt::format("is the file of {}, too", pair.one),
                fmt::format("give {} a file of its own", pair.other));
  }
  return {};
}

Result<Output> Output::Open(const ReportOptions& options) {
  if (Result<void> apart = CheckApart(options); !apart) return tl::unexpected(apart.error());
  if (options.format == Format::kPerfetto && options.report_file.empty()) {
    return Fail("--format perfetto", "is binary", "--report FILE says where it goes");
  }
  for (const std::string& file : {options.report_file, options.gen_suppressions}) {
    Result<void> writable = CheckWritable(file);
    if (!writable) return tl::unexpected(writable.error());
  }
  Output output(options);
  if (!options.suppressions_file.empty()) {
    Result<std::string> text = ReadText(options.suppressions_file);
    if (!text) return tl::unexpected(text.error());
    auto lines = ParseSuppressions(*text, options.suppressions_file);
    if (!lines) return tl::unexpected(lines.error());
    output.suppressions_ = std::move(*lines);
  }
  if (!options.baseline_file.empty()) {
    Result<std::string> text = ReadText(options.baseline_file);
    if (!text) return tl::unexpected(text.error());
    auto known = ParseBaseline(*text, options.baseline_file);
    if (!known) return tl::unexpected(known.error());
    output.baseline_ = std::move(*known);
  }
  return output;
}

Result<void> Output::Print(const Report& report, Symboliser& symbols) {
  SelectOptions select;
  select.min_confidence = options_.min_confidence.value_or(Confidence::kLikely);
  select.suppressions = std::move(suppressions_);
  select.baseline = baseline_;
  Selection selection = Select(report, std::move(select), symbols);
  hazards_ += selection.hazards.size();
  coverage_ = std::min(coverage_, CoveragePercent(report.coverage));
  Result<void> written = Write(selection, report, symbols);
  if (!written) Tell(PrintText({report, selection, symbols}, {false, options_.print_limit}));
  if (!written || options_.gen_suppressions.empty()) return written;
  return WriteSuppressions(selection, symbols);
}

Result<void> Output::Write(const Selection& selection, const Report& report,
                           Symboliser& symbols) const {
  PrintInput input{report, selection, symbols};
  PrintOptions print{WantsColour(options_.report_file.empty()), options_.print_limit};
  switch (options_.format) {
    case Format::kJson:
      return WriteReport(PrintJson(input), options_.report_file);
    case Format::kHtml:
      return WriteReport(PrintHtml(input), options_.report_file);
    case Format::kSarif:
      return WriteReport(PrintSarif(input), options_.report_file);
    case Format::kPerfetto:
      return WriteReport(PrintPerfetto(input), options_.report_file);
    case Format::kText:
      break;
  }
  return WriteReport(PrintText(input, print), options_.report_file);
}

Result<void> Output::WriteSuppressions(const Selection& selection, Symboliser& symbols) const {
  std::string text;
  std::set<std::string> lines;
  for (const Selection::Hazard& hazard : selection.hazards) {
    const std::string line = SuppressionFor(*hazard.finding, symbols);
    text += fmt::format("# {} {}\n", hazard.alias, hazard.id);
    if (line.empty()) {
      text += "# it has no name that a line could hold\n";
    } else if (lines.insert(line).second) {
      text += line + "\n";
    }
  }
  return WriteWholeFile(options_.gen_suppressions, text);
}

Result<void> WriteReport(const std::string& text, const std::string& path) {
  if (!path.empty()) return WriteWholeFile(path, text);
  Tell(text);
  return {};
}

int Output::ExitCode(int program) const {
  if (hazards_) return options_.error_exitcode;
  if (program) return program;
  return coverage_ < options_.require_coverage ? kExitCoverage : kExitOk;
}

}  // namespace ss
