// `streamsan doctor`: what this machine lets the tool see, each line with a remedy. Never fails: a
// machine without a GPU is a normal place to check traces and litmus files.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "src/cli/installation.h"
#include "src/cli/options.h"
#include "src/kernels/disassembler.h"

namespace ss {
namespace {

void Say(bool good, const std::string& what, const std::string& state, const std::string& remedy) {
  fmt::print("{:<4} {:<18} {}\n", good ? "ok" : "--", what, state);
  if (!good && !remedy.empty()) fmt::print("{:<23} -> {}\n", "", remedy);
}

// Runs a shell command; its first line of output, "" when it fails.
std::string FirstLine(const std::string& command) {
  FILE* pipe = popen(("exec 2>/dev/null; " + command).c_str(), "r");
  if (!pipe) return "";
  char line[512] = "";
  bool any = std::fgets(line, sizeof line, pipe) != nullptr;
  bool good = pclose(pipe) == 0;
  std::string text = any && good ? line : "";
  return text.substr(0, text.find('\n'));
}

// The driver is asked for its version only: cuInit would create state on a GPU that others use.
void Driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    Say(false, "CUDA driver", "libcuda.so.1 not found",
        "programs run where the NVIDIA driver is; in a container, start it with --gpus");
    return;
  }
  using GetVersion = int (*)(int*);
  auto get_version = reinterpret_cast<GetVersion>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (get_version) get_version(&version);
  Say(version >= 12000, "CUDA driver",
      fmt::format("libcuda.so.1, CUDA {}.{}", version / 1000, version % 1000 / 10),
      "CUDA 12 or newer is supported");
}

void Gpu() {
  std::string name = FirstLine("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader");
  Say(!name.empty(), "GPU", name.empty() ? "none seen by nvidia-smi" : name,
      "traces and litmus files can be checked here; recording a real GPU cannot");
}

// Starts `true` with the library preloaded: the loader complains on stderr if it cannot.
void Preload() {
  Result<std::string> library = FindCaptureLibrary();
  if (!library) {
    Say(false, "capture library", library.error().message, library.error().remedy);
    return;
  }
  Say(true, "capture library", *library, "");
  std::string complaint = FirstLine(fmt::format("LD_PRELOAD='{}' /bin/true 2>&1; echo", *library));
  Say(complaint.empty(), "LD_PRELOAD", complaint.empty() ? "works" : complaint,
      "static and set-uid programs, and some sandboxes, drop it");
}

void Memfd() {
  int fd = memfd_create("streamsan-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool good = fd >= 0 && ftruncate(fd, 1 << 20) == 0;
  if (fd >= 0) close(fd);
  Say(good, "shared memory", good ? "memfd" : "memfd_create is refused",
      "needed for recording: allow memfd_create in the sandbox's seccomp profile");
}

void Sockets() {
  int pair[2];
  bool good = socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0;
  if (good) {
    close(pair[0]);
    close(pair[1]);
  }
  Say(good, "local sockets", good ? "SOCK_SEQPACKET" : "refused", "needed for recording");
}

void Ptrace() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  file >> scope;
  Say(scope < 2, "ptrace", fmt::format("ptrace_scope {}", scope),
      "only debuggers need it; recording does not");
}

// What `streamsan run` puts in PYTHONPATH, and what it takes to build the PyTorch helper there.
void Python() {
  std::string site = FindPythonSite();
  Say(!site.empty(), "Python plug-ins", site.empty() ? "not in this installation" : site,
      "PyTorch programs are watched without operators, blocks and Python lines: pip install .");
  std::string compiler = FirstLine("${CXX:-g++} --version");
  Say(!compiler.empty(), "C++ compiler", compiler.empty() ? "none" : compiler,
      "the PyTorch helper is built on the machine that it runs on: install g++, or set CXX");
}

// What `streamsan pipeline watch` needs beside a GPU.
void PipelineWatch() {
  Result<std::string> library = FindPipelineLibrary();
  Say(library.has_value(), "pipeline watch", library ? *library : "not in this installation",
      library ? "" : library.error().remedy);
  Result<std::string> sanitizer = FindSanitizerLibrary();
  Say(sanitizer.has_value(), "Sanitizer API", sanitizer ? *sanitizer : "not found",
      sanitizer ? "" : sanitizer.error().remedy);
}

// How an NCCL that is linked into the program is seen.
void NcclPlugIn() {
  const char* other = std::getenv("NCCL_PROFILER_PLUGIN");
  Say(!other, "NCCL profiler", other ? other : "free",
      "NCCL that is linked statically is not seen while NCCL_PROFILER_PLUGIN names another "
      "plug-in");
}

// The one that reading a kernel's code would take.
void Nvdisasm() {
  Result<kernels::Disassembler> found = kernels::Disassembler::Find();
  Say(found.has_value(), "nvdisasm", found ? found->program() : found.error().message,
      "without it, what a kernel reads and writes comes from annotations alone: " +
          (found ? "" : found.error().remedy));
}

void Tool(const char* name, const char* command, const char* remedy) {
  std::string line = FirstLine(command);
  Say(!line.empty(), name, line.empty() ? "not found" : line, remedy);
}

}  // namespace

int DoctorCommand() {
  fmt::print("streamsan {} in {}\n", STREAMSAN_VERSION, ProgramDirectory());
  Driver();
  Gpu();
  Preload();
  Memfd();
  Sockets();
  Ptrace();
  Nvdisasm();
  PipelineWatch();
  Python();
  NcclPlugIn();
  Tool("PyTorch", "python3 -c 'import torch; print(torch.__version__)'",
       "only needed to watch PyTorch programs");
  return kExitOk;
}

}  // namespace ss
