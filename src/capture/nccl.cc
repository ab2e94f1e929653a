// The exported functions: NCCL's signatures behind plain types (handles as const void*, enums as
// int). Signatures are nccl.h's; no header of NCCL is needed to build this.
#include <cuda.h>

#include "src/capture/counts.h"
#include "src/capture/intern.h"
#include "src/capture/nccl_record.h"
#include "src/capture/ranges.h"
#include "src/capture/stack.h"

namespace ss::capture {
namespace {

using Comm = const void*;
using Stream = const void*;
struct UniqueId {
  char bytes[128];  // NCCL_UNIQUE_ID_BYTES
};

enum Birth : uint64_t { kSeen, kInit, kSplit, kShrink, kGrow, kInitAll };
enum End : uint64_t { kDestroy = 1, kAbort, kFinalize, kRevoke };
enum Queueing : uint64_t { kOwnCall, kGroupEnd, kSimulated };
constexpr int kNone = -1;

// What is asked for is recorded before the call: a call that hangs is in the trace.
template <class... A>
int Operation(NcclRow row, const NcclSite& site, const NcclOperation& operation, A... arguments) {
  Thread* thread = EnterNccl(row);
  if (!thread || !NoteOperation(*thread, site, operation)) {
    return CallNccl(row, site, thread, arguments...);
  }
  uint64_t before = BeginQueueing(*thread);
  int result = CallNccl(row, site, thread, arguments...);
  EndQueueing(*thread, site, before, kOwnCall, result);
  return result;
}

template <class... A>
int MakeComm(NcclRow row, const NcclSite& site, const NcclBirth& birth, Comm* made,
             A... arguments) {
  Thread* thread = EnterNccl(row);
  int result = CallNccl(row, site, thread, arguments...);
  if (thread && made) NoteBirth(*thread, site, *made, birth, result);
  return result;
}

template <class... A>
int EndComm(NcclRow row, const NcclSite& site, Comm comm, End how, A... more) {
  Thread* thread = EnterNccl(row);
  if (thread) NoteEnd(*thread, site, comm, how);
  return CallNccl(row, site, thread, comm, more...);
}

// Groups nest; the outermost end queues what was called.
template <class... A>
int EndGroup(NcclRow row, const NcclSite& site, Queueing how, A... arguments) {
  Thread* thread = EnterNccl(row);
  if (thread && thread->nccl_depth) --thread->nccl_depth;
  if (!thread || thread->nccl_depth || thread->nccl_calls == 0) {
    return CallNccl(row, site, thread, arguments...);
  }
  uint64_t before = BeginQueueing(*thread);
  int result = CallNccl(row, site, thread, arguments...);
  EndQueueing(*thread, site, before, how, result);
  thread->nccl_calls = 0;
  return result;
}

template <class... A>
int Unmodelled(NcclRow row, const NcclSite& site, A... arguments) {
  Thread* thread = EnterNccl(row);
  if (thread) CountGap(Gap::kNcclOneSided);
  return CallNccl(row, site, thread, arguments...);
}

}  // namespace

// A hidden name for the address that lookups give out: the exported one may be somebody else's.
#define SS_NCCL(name, ...)                                                                      \
  extern "C" [[gnu::visibility("hidden")]] int ss_nccl_##name(__VA_ARGS__);                     \
  extern "C"                                                                                    \
      [[gnu::visibility("default"), gnu::alias("ss_nccl_" #name)]] int nccl##name(__VA_ARGS__); \
  extern "C" int ss_nccl_##name(__VA_ARGS__)
#define SS_HERE \
  NcclSite { __builtin_return_address(0), reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()) }

// --- communicators

SS_NCCL(CommInitRank, Comm* made, int ranks, UniqueId id, int rank) {
  NcclBirth birth{.how = kInit,
                  .rank = rank,
                  .ranks = static_cast<uint64_t>(ranks),
                  .identity = HashOfId(&id, sizeof id)};
  return MakeComm(kNccl_CommInitRank, SS_HERE, birth, made, made, ranks, id, rank);
}

SS_NCCL(CommInitRankConfig, Comm* made, int ranks, UniqueId id, int rank, void* config) {
  NcclBirth birth{.how = kInit,
                  .rank = rank,
                  .ranks = static_cast<uint64_t>(ranks),
                  .identity = HashOfId(&id, sizeof id)};
  return MakeComm(kNccl_CommInitRankConfig, SS_HERE, birth, made, made, ranks, id, rank, config);
}

// The ids are the same, in the same order, on every rank: the first one names the clique.
SS_NCCL(CommInitRankScalable, Comm* made, int ranks, int rank, int ids, UniqueId* first,
        void* config) {
  NcclBirth birth{.how = kInit,
                  .rank = rank,
                  .ranks = static_cast<uint64_t>(ranks),
                  .identity = ids > 0 && first ? HashOfId(first, sizeof *first) : 0};
  return MakeComm(kNccl_CommInitRankScalable, SS_HERE, birth, made, made, ranks, rank, ids, first,
                  config);
}

// All in this process: the first handle names the clique.
SS_NCCL(CommInitAll, Comm* made, int count, const int* devices) {
  NcclSite site = SS_HERE;
  Thread* thread = EnterNccl(kNccl_CommInitAll);
  int result = CallNccl(kNccl_CommInitAll, site, thread, made, count, devices);
  for (int i = 0; thread && made && result == kNcclSuccess && i < count; ++i) {
    NcclBirth birth{.how = kInitAll,
                    .rank = i,
                    .ranks = static_cast<uint64_t>(count),
                    .identity = HashOfId(&made[0], sizeof made[0])};
    NoteBirth(*thread, site, made[i], birth, result);
  }
  return result;
}

SS_NCCL(CommSplit, Comm comm, int color, int key, Comm* made, void* config) {
  NcclBirth birth{.how = kSplit, .parent = comm, .color = color, .key = key};
  return MakeComm(kNccl_CommSplit, SS_HERE, birth, made, comm, color, key, made, config);
}

SS_NCCL(CommShrink, Comm comm, int* excluded, int count, Comm* made, void* config, int flags) {
  NcclBirth birth{.how = kShrink, .parent = comm};
  return MakeComm(kNccl_CommShrink, SS_HERE, birth, made, comm, excluded, count, made, config,
                  flags);
}

// Only a new rank and the root know the id.
SS_NCCL(CommGrow, Comm comm, int ranks, const UniqueId* id, int rank, Comm* made, void* config) {
  NcclBirth birth{.how = kGrow,
                  .rank = rank,
                  .ranks = static_cast<uint64_t>(ranks),
                  .identity = id ? HashOfId(id, sizeof *id) : 0,
                  .parent = comm};
  return MakeComm(kNccl_CommGrow, SS_HERE, birth, made, comm, ranks, id, rank, made, config);
}

SS_NCCL(CommFinalize, Comm comm) { return EndComm(kNccl_CommFinalize, SS_HERE, comm, kFinalize); }
SS_NCCL(CommDestroy, Comm comm) { return EndComm(kNccl_CommDestroy, SS_HERE, comm, kDestroy); }
SS_NCCL(CommAbort, Comm comm) { return EndComm(kNccl_CommAbort, SS_HERE, comm, kAbort); }
SS_NCCL(CommRevoke, Comm comm, int flags) {
  return EndComm(kNccl_CommRevoke, SS_HERE, comm, kRevoke, flags);
}

// --- groups

SS_NCCL(GroupStart, void) {
  Thread* thread = EnterNccl(kNccl_GroupStart);
  int result = CallNccl(kNccl_GroupStart, SS_HERE, thread);
  if (thread && result == kNcclSuccess && thread->nccl_depth++ == 0) OpenGroup(*thread);
  return result;
}

SS_NCCL(GroupEnd, void) { return EndGroup(kNccl_GroupEnd, SS_HERE, kGroupEnd); }
SS_NCCL(GroupSimulateEnd, void* info) {
  return EndGroup(kNccl_GroupSimulateEnd, SS_HERE, kSimulated, info);
}

// --- operations, each in the plain form and in the one with a configuration behind it

#define SS_REDUCTION(name, kind_)                                                                 \
  SS_NCCL(name, const void* send, void* receive, size_t count, int type, int op, Comm comm,       \
          Stream stream) {                                                                        \
    NcclOperation asked{kind_, send, receive, count, type, op, kNone, comm, stream};              \
    return Operation(kNccl_##name, SS_HERE, asked, send, receive, count, type, op, comm, stream); \
  }                                                                                               \
  SS_NCCL(name##Config, const void* send, void* receive, size_t count, int type, int op,          \
          Comm comm, Stream stream, const void* config) {                                         \
    NcclOperation asked{kind_, send, receive, count, type, op, kNone, comm, stream};              \
    return Operation(kNccl_##name##Config, SS_HERE, asked, send, receive, count, type, op, comm,  \
                     stream, config);                                                             \
  }
SS_REDUCTION(AllReduce, trace::kNcclAllReduce)
SS_REDUCTION(ReduceScatter, trace::kNcclReduceScatter)

#define SS_EXCHANGE(name, kind_)                                                              \
  SS_NCCL(name, const void* send, void* receive, size_t count, int type, Comm comm,           \
          Stream stream) {                                                                    \
    NcclOperation asked{kind_, send, receive, count, type, 0, kNone, comm, stream};           \
    return Operation(kNccl_##name, SS_HERE, asked, send, receive, count, type, comm, stream); \
  }                                                                                           \
  SS_NCCL(name##Config, const void* send, void* receive, size_t count, int type, Comm comm,   \
          Stream stream, const void* config) {                                                \
    NcclOperation asked{kind_, send, receive, count, type, 0, kNone, comm, stream};           \
    return Operation(kNccl_##name##Config, SS_HERE, asked, send, receive, count, type, comm,  \
                     stream, config);                                                         \
  }
SS_EXCHANGE(AllGather, trace::kNcclAllGather)
SS_EXCHANGE(AlltoAll, trace::kNcclAlltoAll)

#define SS_ROOTED(name, kind_)                                                                     \
  SS_NCCL(name, const void* send, void* receive, size_t count, int type, int root, Comm comm,      \
          Stream stream) {                                                                         \
    NcclOperation asked{kind_, send, receive, count, type, 0, root, comm, stream};                 \
    return Operation(kNccl_##name, SS_HERE, asked, send, receive, count, type, root, comm,         \
                     stream);                                                                      \
  }                                                                                                \
  SS_NCCL(name##Config, const void* send, void* receive, size_t count, int type, int root,         \
          Comm comm, Stream stream, const void* config) {                                          \
    NcclOperation asked{kind_, send, receive, count, type, 0, root, comm, stream};                 \
    return Operation(kNccl_##name##Config, SS_HERE, asked, send, receive, count, type, root, comm, \
                     stream, config);                                                              \
  }
SS_ROOTED(Broadcast, trace::kNcclBroadcast)
SS_ROOTED(Gather, trace::kNcclGather)
SS_ROOTED(Scatter, trace::kNcclScatter)

SS_NCCL(Reduce, const void* send, void* receive, size_t count, int type, int op, int root,
        Comm comm, Stream stream) {
  NcclOperation asked{trace::kNcclReduce, send, receive, count, type, op, root, comm, stream};
  return Operation(kNccl_Reduce, SS_HERE, asked, send, receive, count, type, op, root, comm,
                   stream);
}
SS_NCCL(ReduceConfig, const void* send, void* receive, size_t count, int type, int op, int root,
        Comm comm, Stream stream, const void* config) {
  NcclOperation asked{trace::kNcclReduce, send, receive, count, type, op, root, comm, stream};
  return Operation(kNccl_ReduceConfig, SS_HERE, asked, send, receive, count, type, op, root, comm,
                   stream, config);
}

// In place by definition.
SS_NCCL(Bcast, void* buffer, size_t count, int type, int root, Comm comm, Stream stream) {
  NcclOperation asked{trace::kNcclBroadcast, buffer, buffer, count, type, 0, root, comm, stream};
  return Operation(kNccl_Bcast, SS_HERE, asked, buffer, count, type, root, comm, stream);
}

SS_NCCL(Send, const void* send, size_t count, int type, int peer, Comm comm, Stream stream) {
  NcclOperation asked{trace::kNcclSend, send, nullptr, count, type, 0, peer, comm, stream};
  return Operation(kNccl_Send, SS_HERE, asked, send, count, type, peer, comm, stream);
}

SS_NCCL(Recv, void* receive, size_t count, int type, int peer, Comm comm, Stream stream) {
  NcclOperation asked{trace::kNcclRecv, nullptr, receive, count, type, 0, peer, comm, stream};
  return Operation(kNccl_Recv, SS_HERE, asked, receive, count, type, peer, comm, stream);
}

SS_NCCL(PutSignal, const void* local, size_t count, int type, int peer, void* window, size_t offset,
        int signal, int context, unsigned flags, Comm comm, Stream stream) {
  return Unmodelled(kNccl_PutSignal, SS_HERE, local, count, type, peer, window, offset, signal,
                    context, flags, comm, stream);
}
SS_NCCL(Signal, int peer, int signal, int context, unsigned flags, Comm comm, Stream stream) {
  return Unmodelled(kNccl_Signal, SS_HERE, peer, signal, context, flags, comm, stream);
}
SS_NCCL(WaitSignal, int count, void* descriptions, Comm comm, Stream stream) {
  return Unmodelled(kNccl_WaitSignal, SS_HERE, count, descriptions, comm, stream);
}

// With a scalar in device memory (residence 0), each operation that uses `op` reads that as well.
SS_NCCL(RedOpCreatePreMulSum, int* op, void* scalar, int type, int residence, Comm comm) {
  constexpr int kScalarDevice = 0;
  Thread* thread = EnterNccl(kNccl_RedOpCreatePreMulSum);
  if (thread && residence == kScalarDevice) CountGap(Gap::kNcclScalar);
  return CallNccl(kNccl_RedOpCreatePreMulSum, SS_HERE, thread, op, scalar, type, residence, comm);
}

// --- memory: whatever NCCL calls to get it, it is the program's

namespace {
template <class... A>
int Quietly(NcclRow row, const NcclSite& site, Thread& thread, A... arguments) {
  thread.in_driver = true;
  int result = CallNccl(row, site, &thread, arguments...);
  thread.in_driver = false;
  return result;
}
}  // namespace

SS_NCCL(MemAlloc, void** made, size_t bytes) {
  constexpr uint64_t kDevice = 1;
  NcclSite site = SS_HERE;
  Thread* thread = EnterNccl(kNccl_MemAlloc);
  if (!thread || !made) return CallNccl(kNccl_MemAlloc, site, thread, made, bytes);
  uint64_t context = CurrentContext(*thread);
  uint64_t stack = StackOf(*thread, site.caller, site.cfa);
  int result = Quietly(kNccl_MemAlloc, site, *thread, made, bytes);
  if (result != kNcclSuccess) return result;
  auto address = reinterpret_cast<uint64_t>(*made);
  g_ranges.device.Widen(address, address + bytes);
  Note(
      *thread,
      trace::view::Alloc{
          .address = address, .bytes = bytes, .kind = kDevice, .context = context, .stack = stack});
  return result;
}

SS_NCCL(MemFree, void* address) {
  constexpr uint64_t kDevice = 1;
  NcclSite site = SS_HERE;
  Thread* thread = EnterNccl(kNccl_MemFree);
  if (!thread) return CallNccl(kNccl_MemFree, site, thread, address);
  // Before the call: behind it the address may already be another thread's.
  Note(*thread, trace::view::Free{.address = reinterpret_cast<uint64_t>(address),
                                  .kind = kDevice,
                                  .stack = StackOf(*thread, site.caller, site.cfa)});
  return Quietly(kNccl_MemFree, site, *thread, address);
}

}  // namespace ss::capture
