// Finds an exported function of a loaded library without dlsym: this library stands in for dlsym
// itself, so the loader cannot be asked for the real one. It also leaves the program's dlerror()
// alone.
#pragma once

#include <cstdint>

namespace ss::capture {

// The address of `symbol` in the first loaded image whose file name starts with `library`
// ("libc.so"), default version before others; null when there is none. Allocates nothing, callable
// before main.
void* FindInImage(const char* library, const char* symbol);

// The same in the first image that was loaded after the one that `own` lies in. That is where
// RTLD_NEXT would look, and beyond: it passes over what was loaded with RTLD_LOCAL, as Python does.
void* FindBehind(const void* own, const char* symbol);
// In any image but that one.
void* FindElsewhere(const void* own, const char* symbol);

// In the image that `code` lies in.
void* FindInImageOf(const void* code, const char* symbol);
// In how many images but the one of `own` it is defined.
int CountElsewhere(const void* own, const char* symbol);

// The addresses of the image that `code` lies in, if its file name starts with `library`.
struct ImageSpan {
  uintptr_t begin = 0, end = 0;
};
ImageSpan SpanOfImage(const void* code, const char* library);

}  // namespace ss::capture
