#include "src/kernels/ptx.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "src/kernels/process.h"
#include "src/kernels/tools.h"

namespace ss::kernels {
namespace {

constexpr int kTimeoutSeconds = 120;

// "sm_90a" of the line `.target sm_90a, ...`; "" when there is none.
std::string TargetOf(std::string_view ptx) {
  constexpr std::string_view kDirective = ".target";
  size_t at = ptx.find(kDirective);
  if (at == ptx.npos) return "";
  at = ptx.find_first_not_of(" \t", at + kDirective.size());
  size_t end = at == ptx.npos ? at : ptx.find_first_of(" \t\r\n,", at);
  return end == ptx.npos ? "" : std::string(ptx.substr(at, end - at));
}

// Text for sm_90a runs on nothing else; other text on whatever comes later.
std::string ArchitectureFor(std::string_view ptx, int arch) {
  std::string target = TargetOf(ptx);
  bool only_there = !target.empty() && (target.back() == 'a' || target.back() == 'f');
  return arch == 0 || only_there ? target : fmt::format("sm_{}", arch);
}

}  // namespace

bool LooksLikePtx(std::string_view image) {
  std::string_view start = image.substr(0, 1 << 16);
  return start.find(".version") != start.npos && start.find(".target") != start.npos;
}

Result<std::string> CompilePtx(const std::string& ptx, int arch, const std::string& place) {
  std::string architecture = ArchitectureFor(ptx, arch);
  if (architecture.empty()) return Fail(place, "PTX without a .target directive");
  Result<std::string> program = FindTool("ptxas", "STREAMSAN_PTXAS", "nvidia-cuda-nvcc");
  if (!program) {
    return Fail(place, "PTX, which the driver compiles, and ptxas was not found to do it here",
                program.error().remedy);
  }
  TemporaryFile source, cubin;
  // A text that came with its terminating zero ends there.
  std::string_view text = std::string_view(ptx).substr(0, ptx.find('\0'));
  if (Result<void> written = source.Write(text); !written) return tl::unexpected(written.error());
  if (Result<void> written = cubin.Create(); !written) return tl::unexpected(written.error());
  Result<std::string> ran = CaptureOutput(
      {*program, "--gpu-name", architecture, "--output-file", cubin.path(), source.path()},
      kTimeoutSeconds);
  if (!ran) return Fail(place, fmt::format("PTX: {}", ran.error().Text()));
  std::ifstream file(cubin.path(), std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

}  // namespace ss::kernels
