// The driver loads this library for CUDA_INJECTION64_PATH and calls InitializeInjection.
#include <cstdio>
#include <cstdlib>

#include "src/sanitizer/tool.h"

namespace {

ss::sanitizer::Tool* tool = nullptr;  // never freed: its thread outlives main

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (tool) return 1;
  const ss::sanitizer::ToolOptions options = ss::sanitizer::OptionsFromEnvironment();
  if (options.folder.empty()) return 1;
  tool = new ss::sanitizer::Tool(options);
  std::string problem;
  if (!tool->Start(problem)) {
    std::fprintf(stderr, "streamsan: mbarriers are not watched: %s\n", problem.c_str());
    return 1;
  }
  std::atexit([] { tool->Finish(); });
  return 1;
}
