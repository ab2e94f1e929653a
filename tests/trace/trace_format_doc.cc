// Prints docs/trace-format.md.
#include <cstdio>

#include "src/trace/dump.h"

int main() { return std::fputs(ss::trace::FormatDocument().c_str(), stdout) < 0 ? 1 : 0; }
