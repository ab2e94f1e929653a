#include "src/kernels/analyse.h"

#include <fmt/format.h>

#include "src/kernels/flow.h"
#include "src/kernels/hash.h"
#include "src/kernels/interpreter.h"
#include "src/kernels/machine.h"
#include "src/kernels/patterns.h"
#include "src/kernels/summarise.h"

namespace ss::kernels {
namespace {

SectionMap MapSections(const Cubin& cubin, const Code& code, const std::string& prefix) {
  SectionMap map;
  for (const TextSection& text : cubin.text) map.push_back(code.Find(prefix + text.name));
  return map;
}

}  // namespace

Analyser::Analyser(const Cubin& cubin, const Code& code, const std::string& prefix)
    : cubin_(cubin),
      code_(code),
      sections_(MapSections(cubin, code, prefix)),
      builder_(code, cubin, sections_),
      whole_(SectionsAreWhole()) {}

bool Analyser::SectionsAreWhole() const {
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i] == kNoTarget) continue;
    const uint64_t bytes = uint64_t{code_.sections[sections_[i]].count} * kInstructionBytes;
    if (bytes != 0 && bytes < cubin_.text[i].size) return false;
  }
  return true;
}

static KernelSummary NotDisassembled(const Cubin& cubin, const KernelInfo& kernel,
                                     const char* why) {
  KernelSummary summary = Unresolved(cubin, kernel, why);
  summary.hash.clear();
  return summary;
}

KernelSummary Unresolved(const Cubin& cubin, const KernelInfo& kernel, std::string reason) {
  KernelSummary summary;
  summary.name = kernel.name;
  summary.arch = cubin.arch;
  summary.hash = HashOf(cubin, kernel);
  summary.params = kernel.params;
  summary.unresolved.push_back(std::move(reason));
  return summary;
}

KernelSummary Analyser::Summarise(const KernelInfo& kernel) {
  uint32_t section = sections_[kernel.section];
  bool has_code = section != kNoTarget && code_.sections[section].count;
  if (!has_code) {
    return NotDisassembled(cubin_, kernel, "its machine code was not disassembled");
  }
  if (!whole_) {
    return NotDisassembled(cubin_, kernel, "the disassembly ends before its machine code does");
  }
  if (!IsKnownArch(cubin_.arch)) {
    return Unresolved(cubin_, kernel, fmt::format("architecture sm_{} is not known", cubin_.arch));
  }
  KernelSummary summary;
  summary.name = kernel.name;
  summary.arch = cubin_.arch;
  summary.hash = HashOf(cubin_, kernel);
  summary.params = kernel.params;
  pool_.Clear();
  Graph graph = builder_.Build(kernel, code_.sections[section].first);
  Interpreter interpreter(code_, cubin_, kernel, pool_);
  interpreter.SetLocalOnly(LocalOnlyAccesses(code_, graph));
  FlowResult flow = RunFlow(code_, graph, interpreter);
  kernels::Summarise(code_, graph, flow, kernel, interpreter, PollingLoads(code_, graph), summary);
  return summary;
}

std::vector<KernelSummary> Analyser::All() {
  std::vector<KernelSummary> all;
  for (const KernelInfo& kernel : cubin_.kernels) all.push_back(Summarise(kernel));
  return all;
}

std::string HashOf(const Cubin& cubin, const KernelInfo& kernel) {
  Hasher hasher;
  hasher.Number(kAnalyserVersion);
  hasher.Number(cubin.arch);
  hasher.Text(cubin.TextOf(cubin.text[kernel.section]));
  hasher.Number(kernel.param_base);
  hasher.Number(kernel.param_size);
  for (const Parameter& one : kernel.params) {
    hasher.Number(one.offset);
    hasher.Number(one.size);
  }
  for (const BranchTable& table : kernel.branches) {
    hasher.Number(table.pc);
    for (uint32_t target : table.targets) hasher.Number(target);
  }
  hasher.Text(cubin.shared_key);
  return hasher.Hex();
}

}  // namespace ss::kernels
