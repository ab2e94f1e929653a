// Any bytes as a cubin, as a fat binary, as a disassembly: no crash, no hang, bounded memory. What
// passes for a cubin is analysed against what passes for its disassembly, split at the first zero byte.
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

constexpr int kArch = 90;
constexpr uint32_t kParamBase = 0x210;

// A module with one kernel in whatever section the text opens first.
Cubin CubinAround(const Code& code) {
  Cubin cubin;
  cubin.arch = kArch;
  cubin.text.push_back({code.sections[0].name, 0, 0, false});
  KernelInfo kernel;
  kernel.name = "fuzz";
  kernel.param_base = kParamBase;
  kernel.param_size = 64;
  kernel.params = {{0, 8}, {8, 8}, {16, 48}};
  kernel.branches = {{0x10, {0, 0x20, 0x1000}}};
  cubin.kernels.push_back(kernel);
  cubin.functions.push_back({"callee", 0, 0x20});
  return cubin;
}

void AnalyseText(const std::string& bytes) {
  auto text = std::make_shared<const std::string>("\t.section\t.text.fuzz,\"ax\"\n" + bytes);
  Result<Code> code = ParseElfText(text, "fuzz");
  if (!code) return;
  Cubin cubin = CubinAround(*code);
  for (const KernelSummary& one : Analyser(cubin, *code).All()) {
    if (one.resolved() && one.name != "fuzz") __builtin_trap();
  }
}

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
  ss::kernels::AnalyseText(bytes);
  ss::kernels::UnpackLz4(bytes, 4 * size, &out);
  return 0;
}
