// Words for the enums of op.h, as reports and dumps print them.
#pragma once

#include <string>

#include "src/program/op.h"

namespace ss {

const char* Name(OpKind kind);
const char* Name(MemoryKind kind);
const char* Name(Evidence evidence);
std::string ModeName(uint8_t mode);  // "read", "write", "read+write", "atomic"
// The buffer's name, or "alloc#K" with K in first-seen order. Not interned up front: a program
// allocates millions of blocks, and hardly any of them is ever reported.
std::string BufferLabel(const StringTable& strings, StringId name, BufferId id);

}  // namespace ss
