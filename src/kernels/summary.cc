#include "src/kernels/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss::kernels {

namespace {

std::string Letters(bool reads, bool writes, bool updates) {
  std::string modes;
  if (reads) modes += 'R';
  if (writes) modes += 'W';
  if (updates) modes += 'A';
  return modes;
}

}  // namespace

std::string Access::Modes() const { return Letters(reads, writes, updates); }

std::string Access::EarlyModes() const { return Letters(early_reads, early_writes, early_updates); }

std::vector<std::string> KernelSummary::Flags() const {
  std::vector<std::string> flags;
  auto any = [&](auto predicate) {
    return std::any_of(accesses.begin(), accesses.end(), predicate);
  };
  if (waits_for_grid) flags.push_back("grid-dependency-wait");
  if (launches_dependents) flags.push_back("launch-dependents");
  if (any([](const Access& one) { return one.polled; })) flags.push_back("polls");
  if (any([](const Access& one) { return one.ambiguous; })) flags.push_back("ambiguous");
  if (any([](const Access& one) { return one.root == Root::kTexture; })) flags.push_back("texture");
  if (!origin.empty()) flags.push_back(origin);
  for (const PointerDifference& one : differences) {
    std::string word = one.offset < 0 ? "unknown" : fmt::format("{}", one.offset);
    flags.push_back("pointer-difference:" + word);
  }
  for (const std::string& reason : unresolved) flags.push_back("unresolved: " + reason);
  return flags;
}

std::string_view RootName(Root root) {
  switch (root) {
    case Root::kParam:
      return "param";
    case Root::kParamTable:
      return "param-table";
    case Root::kTensorMap:
      return "tensor-map";
    case Root::kIndirect:
      return "indirect";
    case Root::kGlobal:
      return "global";
    case Root::kTexture:
      return "texture";
  }
  return "?";
}

}  // namespace ss::kernels
