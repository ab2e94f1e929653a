// Reading the program's own memory where it may not be there: what lies behind a pointer that the
// program gave to the driver is known only as far as its headers tell the truth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ss::capture {

// All of `bytes`, or false. Through the kernel (process_vm_readv), which answers instead of raising
// SIGSEGV; where a sandbox forbids that call, by memcpy: the driver has read the image by then.
bool ReadOwnMemory(const void* from, void* to, size_t bytes);

template <class T>
bool ReadOwn(const char* from, T* value) {
  return ReadOwnMemory(from, value, sizeof(T));
}

// The text up to its NUL, at most `limit` bytes; false when it does not end before.
bool OwnTextLength(const char* text, size_t limit, size_t* length);

}  // namespace ss::capture
