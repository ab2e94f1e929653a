#include "src/kernels/tools.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

namespace ss::kernels {
namespace {

namespace fs = std::filesystem;

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
std::string InPackages(const std::string& directory, const std::string& name) {
  std::string triton = directory + "/triton/backends/nvidia/bin/" + name;
  if (IsProgram(triton)) return triton;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory + "/nvidia", ignored)) {
    std::string program = entry.path().string() + "/bin/" + name;
    if (IsProgram(program)) return program;
  }
  return "";
}

}  // namespace

Result<std::string> FindTool(const std::string& name, const std::string& variable,
                             const std::string& package) {
  const std::string remedy =
      fmt::format("install the CUDA toolkit or `pip install {}`, or set {}", package, variable);
  if (const char* named = std::getenv(variable.c_str()); named && *named) {
    if (IsProgram(named)) return named;
    return Fail(named, variable + " does not name a program", remedy);
  }
  std::vector<std::string> directories = Split(std::getenv("PATH"));
  if (const char* home = std::getenv("CUDA_HOME"))
    directories.push_back(std::string(home) + "/bin");
  directories.push_back("/usr/local/cuda/bin");
  for (const std::string& directory : directories) {
    std::string program = directory + "/" + name;
    if (IsProgram(program)) return program;
  }
  for (const std::string& directory : PythonDirectories()) {
    if (std::string program = InPackages(directory, name); !program.empty()) return program;
  }
  return Fail("", name + " was not found", remedy);
}

Result<void> TemporaryFile::Create() {
  std::error_code ignored;
  path_ = (fs::temp_directory_path(ignored) / "streamsan-code-XXXXXX").string();
  fd_ = mkostemp(path_.data(), O_CLOEXEC);
  named_ = fd_ >= 0;
  if (named_) return {};
  return Fail(path_, "cannot be created", "set TMPDIR to a directory that can be written");
}

Result<void> TemporaryFile::Write(std::string_view bytes) {
  if (Result<void> created = Create(); !created) return created;
  while (!bytes.empty()) {
    ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written <= 0) return Fail(path_, "cannot be written: is the disk full?");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  const std::string open = fmt::format("/proc/{}/fd/{}", getpid(), fd_);
  if (access(open.c_str(), R_OK) != 0) return {};  // keeps its name
  unlink(path_.c_str());
  named_ = false;
  path_ = open;
  return {};
}

TemporaryFile::~TemporaryFile() {
  if (fd_ >= 0) close(fd_);
  if (named_) unlink(path_.c_str());
}

}  // namespace ss::kernels
