// C++ symbols as people write them.
#pragma once

#include <string>

namespace ss {

// The demangled form of a symbol, or the symbol itself where it is not a mangled one.
std::string Demangled(const char* symbol);

// Without each "(anonymous namespace)::".
std::string WithoutAnonymous(std::string text);

}  // namespace ss
