#include "src/capture/nccl_record.h"

#include <atomic>

#include "src/capture/counts.h"
#include "src/capture/driver.h"
#include "src/capture/elf_lookup.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/stack.h"

namespace ss::capture {
namespace {

// Communicators whose record is due or out. Few: searched linearly, up to the highest one used.
constexpr uint32_t kMaxComms = 4096;
struct Known {
  std::atomic<uint64_t> comm;  // 0 = free
  std::atomic<bool> told;
  NcclBirth birth;
  uint64_t stack;
};
Known g_known[kMaxComms];
std::atomic<uint32_t> g_used;
std::atomic<uint64_t> g_groups;
std::atomic<uint64_t> g_calls[kNcclRows];

uint64_t Word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

Known* Find(uint64_t comm) {
  uint32_t used = g_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (g_known[i].comm.load(std::memory_order_acquire) == comm) return &g_known[i];
  }
  return nullptr;
}

// Null when there are too many: the communicator is then told at each use.
Known* Add(uint64_t comm) {
  constexpr uint64_t kBeingMade = 1;
  for (uint32_t i = 0; i < kMaxComms; ++i) {
    uint64_t none = 0;
    Known& known = g_known[i];
    if (known.comm.load(std::memory_order_relaxed) != 0) continue;
    if (!known.comm.compare_exchange_strong(none, kBeingMade)) continue;
    known.told.store(false);
    known.birth = {};
    known.stack = 0;
    known.comm.store(comm, std::memory_order_release);
    uint32_t used = g_used.load();
    while (used <= i && !g_used.compare_exchange_weak(used, i + 1)) {
    }
    return &known;
  }
  return nullptr;
}

// NCCL's own answer, -1 without one: a communicator that is still being made gives none.
int64_t Ask(const char* question, uint64_t comm) {
  using Function = int (*)(const void*, int*);
  auto function = reinterpret_cast<Function>(FindBehind(g_known, question));
  int answer = -1;
  if (!function || function(reinterpret_cast<const void*>(comm), &answer) != kNcclSuccess)
    return -1;
  return answer;
}

void Tell(Thread& thread, uint64_t comm, const NcclBirth& birth, uint64_t stack) {
  ++thread.in_nccl;
  int64_t rank = birth.rank >= 0 ? birth.rank : Ask("ncclCommUserRank", comm);
  int64_t ranks = birth.ranks ? static_cast<int64_t>(birth.ranks) : Ask("ncclCommCount", comm);
  int64_t device = Ask("ncclCommCuDevice", comm);
  --thread.in_nccl;
  TellNow(thread);
  Note(thread, trace::view::NcclComm{.comm = comm,
                                     .how = birth.how,
                                     .rank = rank,
                                     .ranks = ranks > 0 ? static_cast<uint64_t>(ranks) : 0,
                                     .device = device,
                                     .identity = birth.identity,
                                     .parent = Word(birth.parent),
                                     .color = birth.color,
                                     .key = birth.key,
                                     .stack = stack});
}

void TellOnce(Thread& thread, Known& known) {
  if (known.told.exchange(true)) return;
  Tell(thread, known.comm.load(), known.birth, known.stack);
}

void SeenComm(Thread& thread, uint64_t comm) {
  if (comm == 0) return;  // NCCL will refuse it
  Known* known = Find(comm);
  if (!known) known = Add(comm);
  if (!known) return Tell(thread, comm, {}, 0);
  TellOnce(thread, *known);
}

uint64_t StackAt(Thread& thread, const NcclSite& site) {
  return StackOf(thread, site.caller, site.cfa);
}

}  // namespace

Thread* EnterNccl(NcclRow row) {
  Thread* thread = CurrentThread();
  if (!thread || thread->in_nccl || thread->in_driver) return nullptr;
  g_calls[row].fetch_add(1, std::memory_order_relaxed);
  return thread;
}

uint64_t NewNcclGroup() { return g_groups.fetch_add(1) + 1; }

void OpenGroup(Thread& thread) {
  thread.nccl_group = NewNcclGroup();
  thread.nccl_calls = 0;
}

bool NoteOperation(Thread& thread, const NcclSite& site, const NcclOperation& operation) {
  uint64_t stream =
      operation.stream ? Word(operation.stream) : 1;  // 0 is the legacy default stream
  bool alone = thread.nccl_depth == 0;
  SeenComm(thread, Word(operation.comm));
  if (alone) OpenGroup(thread);
  ++thread.nccl_calls;
  uint64_t context = ContextOf(thread, stream);
  uint64_t stack = StackAt(thread, site);
  TellNow(thread);
  Note(thread, trace::view::NcclCall{.comm = Word(operation.comm),
                                     .kind = operation.kind,
                                     .send = Word(operation.send),
                                     .receive = Word(operation.receive),
                                     .count = operation.count,
                                     .datatype = static_cast<uint64_t>(operation.datatype),
                                     .op = static_cast<uint64_t>(operation.op),
                                     .peer = operation.peer,
                                     .stream = stream,
                                     .context = context,
                                     .group = thread.nccl_group,
                                     .stack = stack});
  return alone;
}

uint64_t BeginQueueing(Thread& thread) {
  const uint64_t before = thread.ring->Begin();
  TellTime(thread, before);
  return before;
}

void EndQueueing(Thread& thread, const NcclSite& site, uint64_t before, uint64_t how, int result) {
  NoteQueued(thread, before,
             {.group = thread.nccl_group,
              .how = how,
              .calls = thread.nccl_calls,
              .result = result,
              .stack = StackAt(thread, site)});
}

void NoteQueued(Thread& thread, uint64_t before, const trace::view::NcclGroupEnd& end) {
  uint64_t after = thread.ring->Next();
  size_t bytes = trace::Encode(thread.record, trace::kMaxRecord, before, after, end);
  thread.ring->Append(thread.record, bytes);
  thread.ring->End();
  if (CountedCallSeen()) NoteCountedCalls(thread);
}

// Told at once where NCCL can answer; what is made in a group, or by a thread of NCCL's, at its
// first use.
void NoteBirth(Thread& thread, const NcclSite& site, const void* comm, const NcclBirth& birth,
               int result) {
  if (!comm || (result != kNcclSuccess && result != kNcclInProgress)) return;
  Known* known = Find(Word(comm));  // the handle of one that went unseen
  if (!known) known = Add(Word(comm));
  if (!known) return;
  known->told.store(false);
  known->birth = birth;
  known->stack = StackAt(thread, site);
  if (result == kNcclSuccess && thread.nccl_depth == 0) TellOnce(thread, *known);
}

void NoteEnd(Thread& thread, const NcclSite& site, const void* comm, uint64_t how) {
  constexpr uint64_t kAbort = 2;  // the last one that frees the handle
  if (!comm) return;
  Known* known = Find(Word(comm));
  if (known && known->told.load()) {
    Note(thread,
         trace::view::NcclCommEnd{.comm = Word(comm), .how = how, .stack = StackAt(thread, site)});
  }
  if (known && how <= kAbort) known->comm.store(0, std::memory_order_release);
}

uint64_t HashOfId(const void* bytes, size_t size) {
  auto* at = static_cast<const uint8_t*>(bytes);
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  return hash ? hash : 1;
}

uint64_t NcclCalls(int row) { return g_calls[row].load(std::memory_order_relaxed); }

void ResetNccl() {
  uint32_t used = g_used.load();
  for (uint32_t i = 0; i < used; ++i) g_known[i].comm.store(0);
  g_used.store(0);
  for (auto& calls : g_calls) calls.store(0);
}

}  // namespace ss::capture
