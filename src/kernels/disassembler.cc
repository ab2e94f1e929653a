#include "src/kernels/disassembler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "src/kernels/process.h"

namespace ss::kernels {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "nvdisasm";

bool IsProgram(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> Split(const char* list) {
  std::vector<std::string> parts;
  std::istringstream in(list ? list : "");
  for (std::string part; std::getline(in, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// Directories in which Python packages may lie, without running Python.
std::vector<std::string> PythonDirectories() {
  std::vector<std::string> found = Split(std::getenv("PYTHONPATH"));
  std::vector<std::string> roots;
  if (const char* home = std::getenv("VIRTUAL_ENV")) roots.push_back(home);
  for (const std::string& bin : Split(std::getenv("PATH"))) {
    std::error_code ignored;
    if (fs::exists(bin + "/python3", ignored)) roots.push_back(fs::path(bin).parent_path());
  }
  for (const std::string& root : roots) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root + "/lib", ignored)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      found.push_back(entry.path() / "site-packages");
      found.push_back(entry.path() / "dist-packages");
    }
  }
  return found;
}

// Of NVIDIA's package (nvidia/cu13/bin, nvidia/cuda_nvdisasm/bin) or Triton's.
std::string InPackages(const std::string& directory) {
  std::string triton = directory + "/triton/backends/nvidia/bin/" + kProgram;
  if (IsProgram(triton)) return triton;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory + "/nvidia", ignored)) {
    std::string program = entry.path().string() + "/bin/" + kProgram;
    if (IsProgram(program)) return program;
  }
  return "";
}

// A file with `bytes` that goes away with the object.
class TemporaryFile {
 public:
  Result<void> Write(std::string_view bytes) {
    std::error_code ignored;
    path_ = (fs::temp_directory_path(ignored) / "streamsan-code-XXXXXX").string();
    int fd = mkostemp(path_.data(), 0);
    if (fd < 0) return Fail(path_, "cannot be created", "set TMPDIR to a directory that can be written");
    while (!bytes.empty()) {
      ssize_t written = write(fd, bytes.data(), bytes.size());
      if (written <= 0) break;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    close(fd);
    if (!bytes.empty()) return Fail(path_, "cannot be written: is the disk full?");
    return {};
  }
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The variant that knows every instruction of its architecture: "a" from Hopper on.
std::string ArchName(int arch) { return fmt::format("SM{}{}", arch, arch >= 90 ? "a" : ""); }

}  // namespace

Result<Disassembler> Disassembler::Find() {
  constexpr char kRemedy[] =
      "install the CUDA toolkit or `pip install nvidia-cuda-nvdisasm`, or set STREAMSAN_NVDISASM";
  if (const char* named = std::getenv("STREAMSAN_NVDISASM"); named && *named) {
    if (IsProgram(named)) return Disassembler(named);
    return Fail(named, "STREAMSAN_NVDISASM does not name a program", kRemedy);
  }
  std::vector<std::string> directories = Split(std::getenv("PATH"));
  if (const char* home = std::getenv("CUDA_HOME")) directories.push_back(std::string(home) + "/bin");
  directories.push_back("/usr/local/cuda/bin");
  for (const std::string& directory : directories) {
    std::string program = directory + "/" + kProgram;
    if (IsProgram(program)) return Disassembler(program);
  }
  for (const std::string& directory : PythonDirectories()) {
    if (std::string program = InPackages(directory); !program.empty()) return Disassembler(program);
  }
  return Fail("", "nvdisasm was not found", kRemedy);
}

Result<std::string> Disassembler::Run(const std::vector<std::string>& options,
                                      std::string_view input) const {
  TemporaryFile file;
  if (Result<void> written = file.Write(input); !written) return tl::unexpected(written.error());
  std::vector<std::string> argv{program_};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(file.path());
  return CaptureOutput(argv, timeout_s_);
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
