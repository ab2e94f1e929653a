// The static analysis of one module: its facts and its disassembly to a summary a kernel.
#pragma once

#include <string>
#include <vector>

#include "src/kernels/cubin.h"
#include "src/kernels/graph.h"
#include "src/kernels/sass.h"
#include "src/kernels/summary.h"
#include "src/kernels/tag_set.h"

namespace ss::kernels {

class Analyser {
 public:
  // `code` holds the sections of `cubin` under their names, each with `prefix` before it (several
  // modules may share one disassembly). Both have to outlive the analyser.
  Analyser(const Cubin& cubin, const Code& code, const std::string& prefix = "");

  // Never fails: a kernel whose code is not there is unresolved.
  KernelSummary Summarise(const KernelInfo& kernel);
  std::vector<KernelSummary> All();
  // Every section that is there is there to its end. A summary of one that is not says so, and has
  // no hash: another disassembly may have more.
  bool whole() const { return whole_; }

 private:
  bool SectionsAreWhole() const;

  const Cubin& cubin_;
  const Code& code_;
  SectionMap sections_;
  GraphBuilder builder_;
  TagPool pool_;
  bool whole_;
};

// The key under which a kernel's summary may be kept: its machine code, parameters and everything
// else of the module that the analysis looks at.
std::string HashOf(const Cubin& cubin, const KernelInfo& kernel);

// A summary that says only why there is none.
KernelSummary Unresolved(const Cubin& cubin, const KernelInfo& kernel, std::string reason);

}  // namespace ss::kernels
