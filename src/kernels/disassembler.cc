#include "src/kernels/disassembler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/kernels/process.h"
#include "src/kernels/tools.h"

namespace ss::kernels {
namespace {

// The variant that knows every instruction of its architecture: "a" from Hopper on.
std::string ArchName(int arch) { return fmt::format("SM{}{}", arch, arch >= 90 ? "a" : ""); }

}  // namespace

Result<Disassembler> Disassembler::Find() {
  Result<std::string> program = FindTool("nvdisasm", "STREAMSAN_NVDISASM", "nvidia-cuda-nvdisasm");
  if (!program) return tl::unexpected(program.error());
  return Disassembler(*program);
}

Result<std::string> Disassembler::Run(const std::vector<std::string>& options,
                                      std::string_view input) const {
  TemporaryFile file;
  if (Result<void> written = file.Write(input); !written) return tl::unexpected(written.error());
  std::vector<std::string> argv{program_};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(file.path());
  return CaptureOutput(argv, timeout_s_, cancel_);
}

Result<std::string> Disassembler::Elf(std::string_view image,
                                      const std::vector<uint32_t>& symbols) const {
  std::vector<std::string> options{"-c"};
  if (!symbols.empty()) {
    options.push_back("-fun");
    options.push_back(fmt::format("{}", fmt::join(symbols, ",")));
  }
  return Run(options, image);
}

Result<std::string> Disassembler::Raw(int arch, std::string_view code) const {
  return Run({"-b", ArchName(arch)}, code);
}

}  // namespace ss::kernels
