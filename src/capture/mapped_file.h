// In which file a piece of this process's memory lies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ss::capture {

struct FilePlace {
  char path[4096];  // absolute
  uint64_t offset;  // of the first byte
};

// True when all of it lies in one read-only segment of the program or of a loaded library: then the
// file has the same bytes. Segments that can be written may differ from their file, and files that
// the program maps by itself are not looked for (rejected: /proc/self/maps, a millisecond a time in
// a large process): their bytes are copied like any other memory.
bool FindFile(const void* begin, uint64_t bytes, FilePlace* place);

// `path` made absolute as of now, without symbolic links. False when there is no such file.
bool AbsolutePath(const char* path, FilePlace* place);

}  // namespace ss::capture
