// From the bytes of a file to the summaries of its kernels: cubins, fat binaries, programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/kernels/cache.h"
#include "src/kernels/cubin.h"
#include "src/kernels/disassembler.h"
#include "src/kernels/summary.h"

namespace ss::kernels {

struct ModuleImage {
  std::string place;  // file, and the byte in it
  std::string bytes;  // an ELF file
};

struct ModuleList {
  std::vector<ModuleImage> images;
  std::vector<std::string> notes;  // PTX without machine code, entries that cannot be read
};

// The cubins in a cubin, a fat binary, or any file that carries fat binaries.
Result<ModuleList> ListModules(std::string_view file, const std::string& place);

// Kernels of one image. It has to outlive the analysis.
struct ModuleRequest {
  const ModuleImage* image = nullptr;
  std::vector<std::string> kernels;  // names; empty: all
};

// Called once for every kernel that was asked for and is there, as soon as it is known: those in
// the cache before anything is disassembled. Kernels that could not be disassembled are unresolved,
// with the reason.
using OnSummary = std::function<void(size_t request, KernelSummary summary)>;

// From the cache where they are in it, else from a few processes of the disassembler, many kernels
// each (and one for each image whose code has relocations). `disassembler` may be an error. Returns
// what else a reader should know: images that are no cubins.
std::vector<std::string> Summarise(const std::vector<ModuleRequest>& requests,
                                   const Result<Disassembler>& disassembler, Cache& cache,
                                   const OnSummary& on_summary);

struct Analysis {
  std::vector<KernelSummary> kernels;  // of the images, in their order
  std::vector<std::string> notes;
};

// All kernels of `images`.
Analysis AnalyseModules(const std::vector<ModuleImage>& images,
                        const Result<Disassembler>& disassembler, Cache& cache);

}  // namespace ss::kernels
