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

// The value of LD_PRELOAD for a watched program: what is preloaded already stays in front.
std::string PreloadValue(const char* existing, const std::string& library);

}  // namespace ss
