// What names a shareable handle in all processes that have it. The driver gives a file descriptor
// that says nothing of what is behind it, but however another process gets it (over a socket, by
// fork, by pidfd_getfd), it has the same open file description, and that keeps a lock: one for
// reading, on a byte far beyond what anybody locks, whose place is a random number. It keeps nobody
// from anything, and is gone with the description. A fabric handle is the same bytes everywhere.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ss::capture {

uint64_t NewLabel();  // never 0
// Of a handle that this process gives away: `label`, which those who get it will find there, or
// what its bytes say.
uint64_t PutLabel(CUmemAllocationHandleType type, const void* shareable, uint64_t label);
// Of a handle that it got, as cuMem*ImportFromShareableHandle take it. 0 = it has none.
uint64_t LabelOf(CUmemAllocationHandleType type, const void* shareable);

}  // namespace ss::capture
