// `streamsan kernels`: what each kernel of a file reads and writes, and what stayed unresolved.
#include <fmt/format.h>

#include <algorithm>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/kernels/json.h"
#include "src/kernels/modules.h"

namespace ss {
namespace {

using kernels::Access;
using kernels::KernelSummary;

std::string Where(const Access& access) {
  std::string where = fmt::format("{} {}", kernels::RootName(access.root), access.offset);
  if (!access.symbol.empty()) where = fmt::format("{} {}", kernels::RootName(access.root), access.symbol);
  if (access.stride) where += fmt::format("-{} step {}", access.end, access.stride);
  return where;
}

void PrintKernel(const KernelSummary& kernel) {
  fmt::print("{}  sm_{}  {} parameters{}\n", kernel.name, kernel.arch, kernel.params.size(),
             kernel.resolved() ? "" : "  UNRESOLVED");
  for (const Access& access : kernel.accesses) {
    fmt::print("  {:<28} {}{}{}{}\n", Where(access), access.Modes(),
               kernel.waits_for_grid && access.before_grid_wait ? "  before the grid-dependency wait" : "",
               access.polled ? "  polled" : "", access.ambiguous ? "  ambiguous" : "");
  }
  for (const std::string& flag : kernel.Flags()) fmt::print("  ! {}\n", flag);
}

void PrintText(const kernels::Analysis& analysis) {
  for (const KernelSummary& kernel : analysis.kernels) PrintKernel(kernel);
  for (const std::string& note : analysis.notes) fmt::print("note: {}\n", note);
  size_t resolved = std::count_if(analysis.kernels.begin(), analysis.kernels.end(),
                                  [](const KernelSummary& one) { return one.resolved(); });
  fmt::print("{} kernels, {} resolved\n", analysis.kernels.size(), resolved);
}

}  // namespace

int KernelsCommand(const KernelsCommandOptions& options) {
  Result<std::string> file = ReadWholeFile(options.path);
  if (!file) return Complain(file.error());
  Result<kernels::ModuleList> modules = kernels::ListModules(*file, options.path);
  if (!modules) return Complain(modules.error());
  kernels::Cache cache = options.cache ? kernels::Cache::Default() : kernels::Cache("");
  kernels::Analysis analysis =
      kernels::AnalyseModules(modules->images, kernels::Disassembler::Find(), cache);
  analysis.notes.insert(analysis.notes.begin(), modules->notes.begin(), modules->notes.end());
  // Nothing but a damaged file: wrong input, not an empty answer.
  if (analysis.kernels.empty() && modules->images.size() == 1 && !analysis.notes.empty()) {
    return Complain({"", analysis.notes.back(), ""});
  }
  if (options.format == Format::kJson) {
    fmt::print("{}", kernels::KernelsJson(analysis.kernels, analysis.notes));
  } else {
    PrintText(analysis);
  }
  return kExitOk;
}

}  // namespace ss
