// NCCL, intercepted by symbol: the library exports NCCL's functions, records the call and goes on
// to the definition that the program would have reached without us. Nothing here loads NCCL.
//
// What NCCL queues inside such a call (its kernels, copies, events) is its own business: the
// operation that the program asked for stands in the trace instead, once (rule 23). NCCL orders
// operations of one communicator on different streams among themselves by events of its own; a
// program may not rely on that, so those are not recorded.
//
// Its profiler interface (nccl_plugin.h) is only for what cannot be intercepted: it says less, the
// less the older NCCL is, and a program may already use it. Rejected: NVTX, which says even less.
#pragma once

#include <cstdint>

#include "src/capture/session.h"

namespace ss::capture {

enum NcclRow : uint8_t {
#define NCCL(name) kNccl_##name,
#include "src/capture/nccl.def"
#undef NCCL
  kNcclRows
};
constexpr int kNoNcclRow = -1;
extern const char* const kNcclNames[kNcclRows];  // with the prefix nccl

// Row of an exported name, kNoNcclRow for all others.
int FindNccl(const char* symbol);

// Where a call from `caller` goes: the next definition behind ours; null while no image of the
// process has one. In a process with several, a library that has its own is given that: NCCL calls
// itself by its public names, and those lead to us.
void* NcclReal(int row, const void* caller);
// What dlsym shall give for `found`: ours, and null where ours was all that there was to find.
void* RedirectNccl(int row, void* found);
// True when nobody but us defines it.
bool NcclAbsent(int row);

// Code of an image that is called libnccl*. Known from the first call of NCCL on; one load before.
bool InNccl(const void* code);
// Notes where that is, if `code` lies in one; and whether `code`'s image is one to which
// intercepted calls go.
void LearnNccl(const void* code);
bool IsInterceptedNccl(const void* code);

// A driver call from inside an intercepted call of NCCL, or from NCCL's own threads.
inline bool IsNcclsOwn(const Thread& thread, const void* caller) {
  return thread.in_nccl != 0 || InNccl(caller);
}

uint64_t NcclCalls(int row);
void ResetNccl();  // in a forked child

}  // namespace ss::capture
