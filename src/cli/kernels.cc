// `streamsan kernels`: what each kernel of a file reads and writes, and what stayed unresolved.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/file.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/cli/trace_kernels.h"
#include "src/kernels/json.h"
#include "src/kernels/modules.h"

namespace ss {
namespace {

using kernels::Access;
using kernels::KernelSummary;

std::string Where(const Access& access) {
  std::string where = fmt::format("{} {}", kernels::RootName(access.root), access.offset);
  if (!access.symbol.empty())
    where = fmt::format("{} {}", kernels::RootName(access.root), access.symbol);
  if (access.stride) where += fmt::format("-{} step {}", access.end, access.stride);
  return where;
}

void PrintKernel(const KernelSummary& kernel, const std::string& launches) {
  std::string arch = kernel.arch ? fmt::format("  sm_{}", kernel.arch) : "";
  fmt::print("{}{}  {} parameters{}{}\n", kernel.name, arch, kernel.params.size(), launches,
             kernel.resolved() ? "" : "  UNRESOLVED");
  for (const Access& access : kernel.accesses) {
    const std::string bytes = access.first == access.last
                                  ? ""
                                  : fmt::format("  bytes {}-{}{}", access.first, access.last,
                                                access.scattered ? " scattered" : "");
    fmt::print(
        "  {:<28} {}{}{}{}{}\n", Where(access), access.Modes(),
        kernel.waits_for_grid && access.before_grid_wait ? "  before the grid-dependency wait" : "",
        access.polled ? "  polled" : "", access.ambiguous ? "  ambiguous" : "", bytes);
  }
  for (const std::string& flag : kernel.Flags()) fmt::print("  ! {}\n", flag);
}

// `launches`: of each kernel, or empty.
void PrintText(const kernels::Analysis& analysis, const std::vector<uint64_t>& launches) {
  uint64_t all = 0, known = 0;
  size_t resolved = 0;
  for (size_t i = 0; i < analysis.kernels.size(); ++i) {
    const KernelSummary& kernel = analysis.kernels[i];
    const uint64_t count = launches.empty() ? 0 : launches[i];
    PrintKernel(kernel, launches.empty() ? "" : fmt::format("  {} launches", count));
    resolved += kernel.resolved();
    all += count;
    known += kernel.resolved() ? count : 0;
  }
  for (const std::string& note : analysis.notes) fmt::print("note: {}\n", note);
  fmt::print("{} kernels, {} resolved", analysis.kernels.size(), resolved);
  if (!launches.empty()) fmt::print("; {} launches, {} of resolved kernels", all, known);
  fmt::print("\n");
}

int Print(const KernelsCommandOptions& options, const kernels::Analysis& analysis,
          const std::vector<uint64_t>& launches) {
  if (options.format == Format::kJson) {
    fmt::print("{}", kernels::KernelsJson(analysis.kernels, analysis.notes));
  } else {
    PrintText(analysis, launches);
  }
  return kExitOk;
}

}  // namespace

int KernelsCommand(const KernelsCommandOptions& options) {
  kernels::Cache cache = options.cache ? kernels::Cache::Default() : kernels::Cache("");
  if (IsTraceFile(options.path)) {
    Result<TraceKernels> found = KernelsOfTrace(options.path, std::move(cache));
    if (!found) return Complain(found.error());
    return Print(options, found->analysis, found->launches);
  }
  Result<std::string> file = ReadBytes(options.path);
  if (!file) return Complain(file.error());
  Result<kernels::ModuleList> modules = kernels::ListModules(*file, options.path);
  if (!modules) return Complain(modules.error());
  kernels::Analysis analysis =
      kernels::AnalyseModules(modules->images, kernels::Disassembler::Find(), cache);
  analysis.notes.insert(analysis.notes.begin(), modules->notes.begin(), modules->notes.end());
  // Nothing but a damaged file: wrong input, not an empty answer.
  if (analysis.kernels.empty() && modules->images.size() == 1 && !analysis.notes.empty()) {
    return Complain({"", analysis.notes.back(), ""});
  }
  return Print(options, analysis, {});
}

}  // namespace ss
