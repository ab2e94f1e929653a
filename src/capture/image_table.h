// Images that have been told to the collector, and which handle stands for which.
//
// An image goes out once: as a place in a file where it lies in one, else as its bytes, copied into
// the ring in pieces; the same bytes loaded again, from wherever, are the same image. They are
// compared by a 64-bit hash of all of them and never by pointer and ends: compilers that tune a
// kernel load cubins from one buffer that differ in the middle only.
#pragma once

#include <cstdint>

namespace ss::capture {

struct Thread;

// Number of an image after its Image record and bytes went out; 0: not seen. What looks like
// machine code and cannot be read is counted.
uint64_t TheImage(Thread& thread, const void* pointer);
uint64_t TheImageOfFile(Thread& thread, const char* path);

// A CUmodule or CUlibrary came alive: emits its ImageLoad. A handle that comes back is a new one.
void NoteImageLoad(Thread& thread, uint64_t image, uint64_t handle);
// A further handle for a library's code: the CUmodule that it has in one context.
void NoteSameImage(Thread& thread, uint64_t library, uint64_t module);
void ForgetImageLoad(uint64_t handle);
// An ImageLoad named this handle, and it was not unloaded since.
bool IsLoaded(uint64_t handle);

// A CUkernel or a CUfunction made of one, and the CUlibrary that it came from.
void NoteOwner(uint64_t function, uint64_t library);
// 0: unknown, or the library is gone.
uint64_t OwnerOf(uint64_t function);

bool InitImages();
void ResetImages();  // in a forked child

}  // namespace ss::capture
