// What the exported NCCL functions have in common: when a call is recorded, and how.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/capture/nccl.h"
#include "src/capture/session.h"
#include "src/trace/nccl.h"

namespace ss::capture {

// ncclResult_t by number.
constexpr int kNcclSuccess = 0;
constexpr int kNcclSystemError = 2;
constexpr int kNcclInProgress = 7;

struct NcclSite {
  const void* caller;  // return address in the program
  uintptr_t cfa;       // its stack pointer at the call
};

struct NcclOperation {
  uint64_t kind;  // the schema's
  const void* send;
  const void* receive;
  size_t count;
  int datatype;
  int op;
  int peer;
  const void* comm;
  const void* stream;
};

// What the call that makes a communicator says of it.
struct NcclBirth {
  uint64_t how;  // the schema's
  int64_t rank = -1;
  uint64_t ranks = 0;
  uint64_t identity = 0;
  const void* parent = nullptr;
  int64_t color = 0;
  int64_t key = 0;
};

// The calling thread, and the call counted; null where the call is to be forwarded and no more: no
// session, or NCCL calls itself.
Thread* EnterNccl(NcclRow row);

template <class... A>
int CallNccl(NcclRow row, const NcclSite& site, Thread* thread, A... arguments) {
  void* real = NcclReal(row, site.caller);
  // Only a program that was linked against a function that no library of the process defines.
  if (!real) return kNcclSystemError;
  if (thread) ++thread->in_nccl;
  int result = reinterpret_cast<int (*)(A...)>(real)(arguments...);
  if (thread) --thread->in_nccl;
  return result;
}

// Opens a group of its own outside of any; returns whether it did.
bool NoteOperation(Thread& thread, const NcclSite& site, const NcclOperation& operation);
// Around the call that queues a group.
uint64_t BeginQueueing(Thread& thread);
void EndQueueing(Thread& thread, const NcclSite& site, uint64_t before, uint64_t how, int result);
void NoteQueued(Thread& thread, uint64_t before, const trace::view::NcclGroupEnd& end);
void OpenGroup(Thread& thread);
uint64_t NewNcclGroup();

void NoteBirth(Thread& thread, const NcclSite& site, const void* comm, const NcclBirth& birth,
               int result);
void NoteEnd(Thread& thread, const NcclSite& site, const void* comm, uint64_t how);

uint64_t HashOfId(const void* bytes, size_t size);

}  // namespace ss::capture
