// From the bytes of a file to the summaries of its kernels: cubins, fat binaries, programs.
#pragma once

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

struct Analysis {
  std::vector<KernelSummary> kernels;  // of the images, in their order
  std::vector<std::string> notes;
};

// Summaries of all kernels of `images`: from the cache where they are in it, else from one process of
// the disassembler an architecture (and one for each image whose code has relocations). Kernels that
// could not be disassembled are unresolved with the reason. `disassembler` may be an error.
Analysis AnalyseModules(const std::vector<ModuleImage>& images,
                        const Result<Disassembler>& disassembler, Cache& cache);

}  // namespace ss::kernels
