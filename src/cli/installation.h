// Where the parts of the installed tool are, found from the running program itself: bin/streamsan
// and lib/libstreamsan_capture.so move together.
#pragma once

#include <string>

#include "src/base/result.h"

namespace ss {

// Directory of the running executable.
std::string ProgramDirectory();

// Absolute path of libstreamsan_capture.so. Error: it is not beside the program (../lib, ../lib64,
// ../lib/ARCH) and STREAMSAN_CAPTURE_LIBRARY does not name it.
Result<std::string> FindCaptureLibrary();

// Absolute path of libstreamsan_pipeline.so, which watches mbarriers. Error: this installation was
// built without it, and STREAMSAN_PIPELINE_LIBRARY does not name it.
Result<std::string> FindPipelineLibrary();

// NVIDIA's Sanitizer API: STREAMSAN_SANITIZER_LIBRARY, else a CUDA toolkit's. It is theirs, never
// shipped.
Result<std::string> FindSanitizerLibrary();

// The folder whose sitecustomize.py brings the plug-ins into every Python of a watched program; ""
// where this installation has none (a build without the Python package).
std::string FindPythonSite();

// PYTHONPATH for a watched program: `site` first.
std::string PythonPathValue(const char* existing, const std::string& site);

// The value of LD_PRELOAD for a watched program: what is preloaded already stays in front.
std::string PreloadValue(const char* existing, const std::string& library);

}  // namespace ss
