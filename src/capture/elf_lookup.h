// Finds an exported function of a loaded library without dlsym: this library stands in for dlsym
// itself, so the loader cannot be asked for the real one. It also leaves the program's dlerror()
// alone.
#pragma once

namespace ss::capture {

// The address of `symbol` in the first loaded image whose file name starts with `library`
// ("libc.so"), default version before others; null when there is none. Allocates nothing, callable
// before main.
void* FindInImage(const char* library, const char* symbol);

}  // namespace ss::capture
