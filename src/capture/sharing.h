// What the records of shared memory and events are made of.
#pragma once

#include "src/capture/call.h"

namespace ss::capture {

// Shared::kind
inline constexpr uint64_t kSharedMemory = 1, kSharedEvent = 2, kSharedMapping = 3;

// What the program itself shares; what its libraries share among themselves is their own business.
// From here on records are told with the time.
bool Shares(const Call& call);
void Share(Call& call, bool shares, uint64_t kind, bool opened, uint64_t object, const void* handle,
           size_t bytes, uint64_t stack);
// Another process's memory, from there to its end.
void Opened(Call& call, bool shares, uint64_t address, uint64_t stack);

}  // namespace ss::capture
