// NCCL told by NCCL itself, through its profiler interface: for an NCCL that is linked into the
// program, where no symbol of it can be intercepted. `streamsan run` names this library in
// NCCL_PROFILER_PLUGIN. The records are those of the intercepted calls; where calls are
// intercepted, the interception wins, and nothing is recorded here.
//
// NCCL tells of a plan (what one kernel does, kGroup around it) behind the plan's launch and on the
// launching thread, so a plan's calls are one group. Version 5 names the stream at the call, and
// the plan's operations name the call as their parent. Older versions never do: the importer takes
// the stream of the launch that stands before. What it cannot find there, it counts.
//
// Rejected: version 5's event around the launch, which would give the stream of the launch but not
// those of the calls, and that in the newest version alone.
#pragma once

#include <cstdint>

namespace ss::capture {

// What is known of one communicator when NCCL makes it. Ranks 0: told later, or not at all.
struct ToldBirth {
  uint64_t version;
  uint64_t hash = 0;
  int64_t rank = -1;
  uint64_t ranks = 0;
};
// What an operation of a plan says, in the schema's terms.
struct ToldOperation {
  uint64_t kind;
  const void* send;
  const void* receive;
  uint64_t count;
  uint64_t datatype;
  int64_t peer;
  uint64_t hash = 0;  // of the communicator, before version 4
};
struct ToldCall {
  uint64_t count;
  uint64_t datatype;
  const void* stream;
  bool captured;
};

// `caller` is NCCL's own code. Null where it is not to be asked for anything.
void* ToldComm(const ToldBirth& birth, const void* caller);
void ToldCommEnd(void* comm);

// The handles that these give are what NCCL gives back as parents.
void* ToldGroup(void* comm);
void* ToldCallBegins(void* comm, const ToldCall& call, const void* caller, uintptr_t cfa);
void ToldOperationOf(void* comm, int64_t rank, void* parent, const ToldOperation& operation,
                     const void* caller, uintptr_t cfa);
void ToldStop(void* handle);

void ResetTold();  // in a forked child

}  // namespace ss::capture
