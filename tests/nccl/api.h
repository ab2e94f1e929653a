// The part of NCCL's interface that the tests use, by plain types.
#pragma once

#include <cuda.h>

#include <cstddef>

struct NcclId {
  char bytes[128];
};
using NcclComm = struct NcclCommunicator*;

// name, parameters
#define NCCL_API(X)                                                                               \
  X(CommInitRank, (NcclComm * comm, int ranks, NcclId id, int rank))                              \
  X(CommSplit, (NcclComm comm, int color, int key, NcclComm* made, void* config))                 \
  X(CommCount, (NcclComm comm, int* ranks))                                                       \
  X(CommUserRank, (NcclComm comm, int* rank))                                                     \
  X(CommCuDevice, (NcclComm comm, int* device))                                                   \
  X(CommDestroy, (NcclComm comm))                                                                 \
  X(GroupStart, ())                                                                               \
  X(GroupEnd, ())                                                                                 \
  X(AllReduce, (const void* send, void* receive, size_t count, int type, int op, NcclComm comm,   \
                CUstream stream))                                                                 \
  X(Broadcast, (const void* send, void* receive, size_t count, int type, int root, NcclComm comm, \
                CUstream stream))                                                                 \
  X(Bcast, (void* buffer, size_t count, int type, int root, NcclComm comm, CUstream stream))      \
  X(Reduce, (const void* send, void* receive, size_t count, int type, int op, int root,           \
             NcclComm comm, CUstream stream))                                                     \
  X(AllGather,                                                                                    \
    (const void* send, void* receive, size_t count, int type, NcclComm comm, CUstream stream))    \
  X(Send, (const void* send, size_t count, int type, int peer, NcclComm comm, CUstream stream))   \
  X(Recv, (void* receive, size_t count, int type, int peer, NcclComm comm, CUstream stream))      \
  X(MemAlloc, (void** made, size_t bytes))                                                        \
  X(MemFree, (void* address))

#define NCCL_DECLARE(name, parameters) extern "C" int nccl##name parameters;
NCCL_API(NCCL_DECLARE)
#undef NCCL_DECLARE

struct NcclFunctions {
#define NCCL_MEMBER(name, parameters) int(*name) parameters;
  NCCL_API(NCCL_MEMBER)
#undef NCCL_MEMBER
};

// What the stand-in answers to a bad argument, and to this count.
constexpr int kNcclInvalidArgument = 4;
constexpr size_t kRefusedCount = 777;
constexpr int kNcclFloat = 7, kNcclSum = 0;
