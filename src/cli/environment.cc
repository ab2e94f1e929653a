#include "src/cli/environment.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace ss {
namespace {

constexpr char kPlace[] = "STREAMSAN_OPTIONS";

constexpr uint64_t kMaxRingMb = 1024;  // as in src/capture/options.cc
constexpr uint64_t kMaxTraceMb = uint64_t{1} << 30;

bool ParseMegabytes(std::string_view text, uint64_t most, uint64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out >= 1 && *out <= most;
}

bool ParseSwitch(std::string_view text, bool* out) {
  if (text != "0" && text != "1") return false;
  *out = text == "1";
  return true;
}

bool ParseSeconds(std::string_view text, uint64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// For values that only the capture library uses.
bool OneOf(std::string_view text, std::string_view a, std::string_view b) {
  return text == a || text == b;
}

struct Variable {
  const char *name, *text;
};

constexpr Variable kForPeople[] = {
    {"STREAMSAN_OPTIONS",
     "key=value:... of stacks, mode, ring_mb, on_full, max_trace_mb, halt_on_error,\n"
     "min_confidence, stall_seconds, disable (docs/options.md)"},
    {"STREAMSAN_CACHE", "folder of kernel summaries; else XDG_CACHE_HOME, else HOME says where"},
    {"STREAMSAN_NVDISASM", "NVIDIA's disassembler"},
    {"STREAMSAN_PTXAS", "NVIDIA's assembler, for kernels that are there as PTX alone"},
    {"STREAMSAN_CUDA_GDB", "cuda-gdb, for hang"},
    {"STREAMSAN_CAPTURE_LIBRARY", "the library that run and record preload"},
    {"STREAMSAN_PIPELINE_LIBRARY", "the library that pipeline watch injects"},
    {"STREAMSAN_SANITIZER_LIBRARY", "libsanitizer-public.so, for pipeline watch"},
    {"CUDA_HOME", "the CUDA toolkit, where its tools are not in PATH"},
    {"PATH", "where programs are looked for"},
    {"PYTHONPATH",
     "where Python packages that carry NVIDIA's tools are looked for; so is\n"
     "VIRTUAL_ENV. run adds its own package for the program"},
    {"VIRTUAL_ENV", "see PYTHONPATH"},
    {"XDG_CACHE_HOME", "see STREAMSAN_CACHE"},
    {"HOME", "see STREAMSAN_CACHE"},
    {"TMPDIR", "folder of sockets and temporary files (default /tmp)"},
    {"LD_PRELOAD", "what it names stays preloaded, behind the capture library"},
    {"NCCL_PROFILER_PLUGIN", "run sets it for the program unless it is set"},
    {"RANK", "the process's rank; so say OMPI_COMM_WORLD_RANK and SLURM_PROCID"},
    {"OMPI_COMM_WORLD_RANK", "see RANK"},
    {"SLURM_PROCID", "see RANK"},
    {"OMPI_COMM_WORLD_SIZE",
     "more than 1: check shares the work with its fellows of mpirun; so do\n"
     "PMI_SIZE and MPI_LOCALNRANKS"},
    {"PMI_SIZE", "see OMPI_COMM_WORLD_SIZE"},
    {"MPI_LOCALNRANKS", "see OMPI_COMM_WORLD_SIZE"},
    {"NO_COLOR", "no colours"},
    {"TERM", "dumb: no colours"},
};

constexpr Variable kForTheProgram[] = {
    {"STREAMSAN_SOCKET", "where the records go"},
    {"STREAMSAN_ANSWERS", "where its questions are answered"},
    {"STREAMSAN_ALLOCATOR", "--allocator"},
    {"STREAMSAN_BREADCRUMBS", "--breadcrumbs"},
    {"STREAMSAN_TRIAL", "--confirm"},
    {"STREAMSAN_PIPELINE_LOG", "pipeline watch: its recordings"},
    {"STREAMSAN_PIPELINE_LOG_MB", "pipeline watch --log-mb"},
    {"STREAMSAN_PIPELINE_LAUNCHES", "pipeline watch --launches"},
    {"STREAMSAN_PIPELINE_BLOCKS", "pipeline watch --blocks"},
    {"STREAMSAN_PIPELINE_HANG_MS", "pipeline watch: when kernels count as hung"},
    {"CUDA_INJECTION64_PATH", "pipeline watch: its library"},
};

void AddLine(const Variable& variable, std::string* help) {
  constexpr size_t kColumn = 32;
  std::string line = std::string("  ") + variable.name;
  line.resize(std::max(line.size() + 1, kColumn), ' ');
  for (const char* at = variable.text; *at; ++at) {
    line += *at;
    if (*at == '\n') line.append(kColumn, ' ');
  }
  *help += line + "\n";
}

// False where the value does not fit the key; *known says whether there is such a key.
bool Set(Environment* environment, std::string_view key, std::string_view value, bool* known) {
  uint64_t megabytes = 0;  // of what only the capture library uses
  bool flag = false;
  *known = true;
  if (key == "disable") return ParseSwitch(value, &environment->disable);
  if (key == "halt_on_error") return ParseSwitch(value, &environment->halt_on_error);
  if (key == "max_trace_mb") return ParseMegabytes(value, kMaxTraceMb, &environment->max_trace_mb);
  if (key == "ring_mb") return ParseMegabytes(value, kMaxRingMb, &megabytes);
  if (key == "stall_seconds") return ParseSeconds(value, &environment->stall_seconds);
  if (key == "on_full") return OneOf(value, "block", "drop");
  if (key == "stacks") return ParseSwitch(value, &flag);
  if (key == "mode") {
    environment->strict = value == "strict";
    return OneOf(value, "strict", "default");
  }
  if (key == "min_confidence") {
    environment->min_confidence = ParseConfidence(std::string(value));
    return environment->min_confidence.has_value();
  }
  *known = false;
  return false;
}

}  // namespace

std::string EnvironmentHelp() {
  std::string help = "Environment:\n";
  for (const Variable& variable : kForPeople) AddLine(variable, &help);
  help += "  Set for the program that is watched, never by hand:\n";
  for (const Variable& variable : kForTheProgram) AddLine(variable, &help);
  help.pop_back();
  return help;
}

std::optional<Confidence> ParseConfidence(const std::string& word) {
  for (Confidence c : {Confidence::kPossible, Confidence::kLikely, Confidence::kCertain}) {
    if (word == Name(c)) return c;
  }
  return std::nullopt;
}

Result<Environment> ParseEnvironment(const char* text) {
  Environment environment;
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    std::string_view item = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (item.empty()) continue;
    size_t equals = item.find('=');
    std::string_view value = equals == item.npos ? "" : item.substr(equals + 1);
    bool known = false;
    if (Set(&environment, item.substr(0, equals), value, &known)) continue;
    std::string found = "found '" + std::string(item) + "'";
    if (known) return Fail(kPlace, found + ": not a value of this key", "see docs/options.md");
    return Fail(
        kPlace, found,
        "keys: stacks, mode, ring_mb, on_full, max_trace_mb, halt_on_error, min_confidence, "
        "stall_seconds, disable");
  }
  return environment;
}

}  // namespace ss
