// Any text as a disassembly, analysed as the code of one kernel: no crash, no hang, bounded memory.
// The first byte says which of the two forms the rest has. Seeds: functions out of
// tests/kernels/fixtures/*.sass.zst, the beginnings of *.raw.zst.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/kernels/analyse.h"

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

void AnalyseText(std::string_view bytes) {
  auto text = std::make_shared<const std::string>(
      std::string("\t.section\t.text.fuzz,\"ax\"\n").append(bytes));
  Result<Code> code = ParseElfText(text, "fuzz");
  if (!code) return;
  Cubin cubin = CubinAround(*code);
  for (const KernelSummary& one : Analyser(cubin, *code).All()) {
    if (one.resolved() && one.name != "fuzz") __builtin_trap();
  }
}

void AnalyseRaw(std::string_view bytes) {
  auto text = std::make_shared<const std::string>(bytes);
  const RawPiece pieces[] = {{"one", 0, 0x200}, {"two", 0x200, 0x1000}};
  Result<Code> code = ParseRawText(text, pieces, "fuzz");
  if (!code) return;
  Cubin cubin = CubinAround(*code);
  Analyser(cubin, *code).All();
}

}  // namespace
}  // namespace ss::kernels

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with('r')) {
    ss::kernels::AnalyseRaw(bytes.substr(1));
  } else if (!bytes.empty()) {
    ss::kernels::AnalyseText(bytes.substr(1));
  }
  return 0;
}
