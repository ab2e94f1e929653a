#include "src/cli/installation.h"

#include <limits.h>
#include <unistd.h>

#include <cstdlib>

namespace ss {
namespace {

constexpr char kLibrary[] = "libstreamsan_capture.so";
constexpr char kPipelineLibrary[] = "libstreamsan_pipeline.so";
constexpr char kSanitizer[] = "libsanitizer-public.so";

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) ? resolved : "";
}

}  // namespace

std::string ProgramDirectory() {
  std::string self = RealPath("/proc/self/exe");
  return self.substr(0, self.rfind('/'));
}

namespace {

// The file that the environment's `variable` names, else `name` beside the program.
Result<std::string> FindLibrary(const char* name, const char* variable, const char* remedy) {
  if (const char* stated = std::getenv(variable)) {
    std::string path = RealPath(stated);
    if (!path.empty()) return path;
    return Fail(stated, "does not exist", std::string(variable) + " names the library");
  }
  std::string bin = ProgramDirectory();
  for (const char* folder :
       {"/../lib/", "/../lib64/", "/../lib/x86_64-linux-gnu/", "/../lib/aarch64-linux-gnu/", "/"}) {
    std::string path = RealPath(bin + folder + name);
    if (!path.empty()) return path;
  }
  return Fail(bin + "/../lib/" + name, "does not exist", remedy);
}

}  // namespace

Result<std::string> FindCaptureLibrary() {
  return FindLibrary(
      kLibrary, "STREAMSAN_CAPTURE_LIBRARY",
      "build or install the whole tool, or name the file in STREAMSAN_CAPTURE_LIBRARY");
}

Result<std::string> FindPipelineLibrary() {
  return FindLibrary(kPipelineLibrary, "STREAMSAN_PIPELINE_LIBRARY",
                     "this build has no pipeline watch: configure it where nvcc and the Sanitizer "
                     "API's headers are "
                     "(-DSTREAMSAN_PIPELINE_WATCH=ON)");
}

Result<std::string> FindSanitizerLibrary() {
  constexpr char kVariable[] = "STREAMSAN_SANITIZER_LIBRARY";
  if (std::getenv(kVariable)) return FindLibrary(kSanitizer, kVariable, "");
  const char* home = std::getenv("CUDA_HOME");
  for (const std::string& toolkit :
       {std::string(home ? home : ""), std::string("/usr/local/cuda"), std::string("/opt/cuda")}) {
    for (const char* folder :
         {"/compute-sanitizer/", "/extras/compute-sanitizer/", "/lib/", "/lib64/"}) {
      std::string path = toolkit.empty() ? "" : RealPath(toolkit + folder + kSanitizer);
      if (!path.empty()) return path;
    }
  }
  return Fail(kSanitizer, "not found",
              "it comes with a CUDA toolkit (compute-sanitizer) or `pip install "
              "nvidia-cuda-sanitizer-api`: set "
              "CUDA_HOME, or name it in STREAMSAN_SANITIZER_LIBRARY");
}

std::string FindPythonSite() {
  std::string bin = ProgramDirectory();
  // In a wheel, in a build tree, in a source tree with the usual build folder.
  for (const char* folder :
       {"/../_site", "/../python/streamsan/_site", "/../../../python/streamsan/_site"}) {
    std::string path = RealPath(bin + folder);
    if (!path.empty() && !RealPath(path + "/sitecustomize.py").empty()) return path;
  }
  return "";
}

std::string PythonPathValue(const char* existing, const std::string& site) {
  return existing && *existing ? site + ":" + existing : site;
}

std::string PreloadValue(const char* existing, const std::string& library) {
  return existing && *existing ? std::string(existing) + ":" + library : library;
}

}  // namespace ss
