// The executable images of the process: told to the collector for symbolisation, and asked whose
// code made a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/trace/trial.h"

namespace ss::capture {

struct Thread;

// Emits a Module record for each image that is new since the last time.
void NoteModules(Thread& thread);
// The same, if one of the addresses is in no known image and the loader has been at work since.
void NoteModulesFor(Thread& thread, const uint64_t* addresses, size_t count);

// Code of libraries whose allocations are their own business: cuBLAS, cuDNN, NCCL (rule 21).
bool IsPrivateLibrary(const void* code);
// Code of the CUDA runtime: the call's author is further out.
bool IsCudaRuntime(const void* code);

// Adds the address as its image and the offset in it.
void AddPlace(uint64_t address, trace::PlaceHash* place);

bool InitModules();
void ResetModules();  // in a forked child

}  // namespace ss::capture
