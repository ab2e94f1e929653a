// STREAMSAN_OPTIONS=key=value:key=value, the part of it that concerns the watched process. Parsed
// here and nowhere else in this folder.
#pragma once

#include <cstddef>

namespace ss::capture {

struct Options {
  bool disable = false;
  bool stacks = true;
  bool drop_when_full = false;  // on_full=drop; the default blocks
  size_t ring_bytes = 0;        // 0 = the ring's own default
};

// `text` may be null. An unknown key or a value that cannot be read is reported on stderr, once,
// and changes nothing; keys of the collecting process (mode, max_trace_mb, ...) are known and
// passed over.
Options ParseOptions(const char* text);

}  // namespace ss::capture
