// Any bytes as a cubin, as a fat binary, as a packed block: no crash, no hang, bounded memory.
// Seeds: the files of tests/kernels/fixtures, unpacked.
#include <cstdint>
#include <memory>
#include <string>

#include "src/kernels/analyse.h"
#include "src/kernels/elf.h"
#include "src/kernels/fatbin.h"
#include "src/kernels/lz4.h"
#include "src/kernels/modules.h"

namespace ss::kernels {
namespace {

void ReadImage(const std::string& bytes) {
  ElfLength(bytes);
  FatbinLength(bytes);
  Result<ModuleList> list = ListModules(bytes, "fuzz");
  if (!list) return;
  Cache none("");
  Result<Disassembler> absent = Fail("fuzz", "no disassembler");
  for (const KernelSummary& one : AnalyseModules(list->images, absent, none).kernels) {
    if (one.resolved()) __builtin_trap();
  }
}

}  // namespace
}  // namespace ss::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size), out;
  ss::kernels::ReadImage(bytes);
  ss::kernels::UnpackLz4(bytes, 4 * size, &out);
  return 0;
}
