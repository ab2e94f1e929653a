#include "src/cli/installation.h"

#include <limits.h>
#include <unistd.h>

#include <cstdlib>

namespace ss {
namespace {

constexpr char kLibrary[] = "libstreamsan_capture.so";

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) ? resolved : "";
}

}  // namespace

std::string ProgramDirectory() {
  std::string self = RealPath("/proc/self/exe");
  return self.substr(0, self.rfind('/'));
}

Result<std::string> FindCaptureLibrary() {
  if (const char* stated = std::getenv("STREAMSAN_CAPTURE_LIBRARY")) {
    std::string path = RealPath(stated);
    if (!path.empty()) return path;
    return Fail(stated, "does not exist", "STREAMSAN_CAPTURE_LIBRARY names the capture library");
  }
  std::string bin = ProgramDirectory();
  for (const char* folder :
       {"/../lib/", "/../lib64/", "/../lib/x86_64-linux-gnu/", "/../lib/aarch64-linux-gnu/", "/"}) {
    std::string path = RealPath(bin + folder + kLibrary);
    if (!path.empty()) return path;
  }
  return Fail(bin + "/../lib/" + kLibrary, "does not exist",
              "build or install the whole tool, or name the file in STREAMSAN_CAPTURE_LIBRARY");
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
