// Call stacks as raw return addresses, interned.
//
// Unwinding costs 100 ns a frame and more, so a stack is unwound once and recognised afterwards:
// the cache remembers in which stack slots the return addresses lay. If the call comes from the
// same place at the same stack depth and every one of those slots still holds its address, it is
// the same stack: the return address in a slot determines the function, and that its frame's size,
// so each slot vouches for the next one. Sixty loads replace the unwinder. (Rejected: walking frame
// pointers, which most code lacks; hashing the top words only, which takes two callers of a common
// wrapper for one.)
#pragma once

#include <cstdint>

#include "src/capture/stack_cache.h"

namespace ss::capture {

struct Thread;

// Id of the stack of a program's call: `caller` = return address, `cfa` = the program's stack
// pointer at the call. 0 when stacks are off or memory ran out.
uint64_t StackOf(Thread& thread, const void* caller, uintptr_t cfa);

// The innermost frame that is not the CUDA runtime's.
const void* AuthorOf(const void* caller, uintptr_t cfa);

bool InitStacks();
void ResetStacks();  // in a forked child

}  // namespace ss::capture
