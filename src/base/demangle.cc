#include "src/base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace ss {

// Only what is mangled: the demangler takes a plain `w` for a type, wchar_t.
std::string Demangled(const char* symbol) {
  if (!std::string_view(symbol).starts_with("_Z")) return symbol;
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string text = status == 0 ? plain : symbol;
  std::free(plain);
  return text;
}

std::string WithoutAnonymous(std::string text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = text.find(kAnonymous)) != std::string::npos;)
    text.erase(at, kAnonymous.size());
  return text;
}

}  // namespace ss
