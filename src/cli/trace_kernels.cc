#include "src/cli/trace_kernels.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <unordered_map>

#include "src/kernels/registry.h"
#include "src/trace/format.h"
#include "src/trace/reader.h"

namespace ss {
namespace {

using kernels::KernelEntry;
using kernels::KernelSummary;

KernelSummary SummaryOf(const KernelEntry& entry) {
  KernelSummary summary = entry.summary;
  summary.name = entry.name;
  if (entry.state == KernelEntry::kUnseen) summary.unresolved.push_back(entry.reason);
  if (entry.origin == kernels::Origin::kRecompiled) summary.origin = "recompiled-from-ptx";
  if (entry.origin == kernels::Origin::kByName) summary.origin = "found-by-name";
  return summary;
}

// One kernel may have many handles: a context, a module that was loaded twice.
TraceKernels Merge(const kernels::Registry& registry,
                   const std::unordered_map<const KernelEntry*, uint64_t>& launches) {
  TraceKernels merged;
  std::map<std::pair<std::string, std::string>, size_t> seen;  // name, hash
  for (const auto& entry : registry.Kernels()) {
    auto count = launches.find(entry.get());
    const uint64_t n = count == launches.end() ? 0 : count->second;
    auto [at, fresh] =
        seen.try_emplace({entry->name, entry->summary.hash}, merged.analysis.kernels.size());
    if (fresh) {
      merged.analysis.kernels.push_back(SummaryOf(*entry));
      merged.launches.push_back(0);
    }
    merged.launches[at->second] += n;
  }
  return merged;
}

}  // namespace

bool IsTraceFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string start(trace::kFileMagic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file.good() && start == trace::kFileMagic;
}

Result<TraceKernels> KernelsOfTrace(const std::string& path, kernels::Cache cache) {
  Result<trace::TraceReader> reader = trace::TraceReader::Open(path);
  if (!reader) return tl::unexpected(reader.error());
  kernels::Registry registry(std::move(cache), kernels::Disassembler::Find());
  std::unordered_map<uint64_t, const KernelEntry*> functions;
  std::unordered_map<const KernelEntry*, uint64_t> launches;
  for (;;) {
    Result<std::optional<trace::Record>> record = reader->Next();
    if (!record) return tl::unexpected(record.error());
    if (!*record) break;
    registry.Feed(**record);
    if (auto* function = std::get_if<trace::Function>(&(*record)->body)) {
      functions[function->function] =
          registry.Find(function->function, (*record)->seq_before).get();
    } else if (auto* launch = std::get_if<trace::Launch>(&(*record)->body)) {
      ++launches[functions[launch->function]];
    }
  }
  for (const auto& entry : registry.Kernels()) registry.Wait(*entry, std::chrono::hours(1));
  TraceKernels found = Merge(registry, launches);
  found.analysis.notes = registry.Notes();
  const auto& notes = reader->notes();
  found.analysis.notes.insert(found.analysis.notes.end(), notes.begin(), notes.end());
  return found;
}

}  // namespace ss
