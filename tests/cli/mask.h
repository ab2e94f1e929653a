// Takes out of a report what differs from build to build and run to run, for comparisons with
// samples.
#pragma once

#include <regex>
#include <string>

namespace ss {

inline std::string Replace(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

// Process id, source lines, the frames that depend on what the compiler inlined, and the advice
// (one a call path, and compilers unroll loops).
inline std::string MaskText(std::string text) {
  text = Replace(text, "==[0-9]+==", "==PID==");
  text = Replace(text, "      #[0-9]+ [^\n]*\n", "");
  text = text.substr(0, text.find("==PID== StreamSan: advice"));
  return Replace(text, "[a-z_0-9]+\\.(cc|h):[0-9]+", "FILE:LINE");
}

}  // namespace ss
