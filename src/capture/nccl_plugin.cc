#include "src/capture/nccl_plugin.h"

#include <atomic>

#include "src/capture/counts.h"
#include "src/capture/intern.h"
#include "src/capture/nccl_record.h"
#include "src/capture/stack.h"

namespace ss::capture {
namespace {

constexpr uint64_t kTold = 6;      // NcclComm::how
constexpr uint64_t kDestroy = 1;   // NcclCommEnd::how
constexpr uint64_t kByPlugIn = 3;  // NcclGroupEnd::how
constexpr uint64_t kNoStream = 0;  // NcclCall::stream

struct Comm {
  std::atomic<bool> used;
  std::atomic<bool> told;
  ToldBirth birth;
};
constexpr size_t kMaxComms = 1024;
Comm g_comms[kMaxComms];

// Calls whose operations are still to come, by a number that goes round: a handle whose slot went
// to a later call finds that out.
struct Pending {
  std::atomic<uint64_t> number;
  const Thread* thread;
  ToldCall call;
  uint64_t stack;
};
constexpr uint64_t kMaxPending = 4096;
Pending g_pending[kMaxPending];
std::atomic<uint64_t> g_calls;

// Handles are numbers that NCCL keeps for us, and never addresses.
enum Handle : uint64_t { kNone = 0, kCaptured = 1, kPlan = 2, kFirstCall = 16 };
void* AsHandle(uint64_t number) { return reinterpret_cast<void*>(number); }
uint64_t AsNumber(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

// The thread, unless NCCL was called through a function that is intercepted.
Thread* Telling() {
  Thread* thread = CurrentThread();
  return thread && !thread->in_nccl ? thread : nullptr;
}

// Told at the first use, when all of it is known.
void Tell(Thread& thread, Comm& comm, int64_t rank, uint64_t hash) {
  if (comm.told.exchange(true)) return;
  const ToldBirth& birth = comm.birth;
  Note(thread, trace::view::NcclComm{.comm = AsNumber(&comm),
                                     .how = kTold,
                                     .rank = birth.rank >= 0 ? birth.rank : rank,
                                     .ranks = birth.ranks,
                                     .device = -1,
                                     .identity = birth.hash ? birth.hash : hash});
}

// What the call said, if `parent` still stands for one.
const Pending* CallOf(const void* parent) {
  const uint64_t number = AsNumber(parent);
  if (number < kFirstCall) return nullptr;
  const Pending& pending = g_pending[number % kMaxPending];
  return pending.number.load(std::memory_order_acquire) == number ? &pending : nullptr;
}

}  // namespace

void* ToldComm(const ToldBirth& birth, const void* caller) {
  if (IsInterceptedNccl(caller)) return nullptr;
  LearnNccl(caller);
  for (Comm& comm : g_comms) {
    bool free = false;
    if (!comm.used.compare_exchange_strong(free, true)) continue;
    comm.told.store(false);
    comm.birth = birth;
    // Before any launch: from here on, NCCL's launches have their calls behind them.
    if (Thread* thread = CurrentThread()) {
      Note(*thread, trace::view::NcclPlugIn{.version = birth.version});
    }
    return &comm;
  }
  return nullptr;  // its kernels are counted as unseen
}

void ToldCommEnd(void* handle) {
  Comm& comm = *static_cast<Comm*>(handle);
  Thread* thread = CurrentThread();
  if (thread && comm.told.load()) {
    Note(*thread, trace::view::NcclCommEnd{.comm = AsNumber(handle), .how = kDestroy});
  }
  comm.used.store(false, std::memory_order_release);
}

void* ToldGroup(void*) {
  Thread* thread = Telling();
  if (!thread) return AsHandle(kNone);
  thread->told_group = NewNcclGroup();
  thread->told_calls = 0;
  return AsHandle(kPlan);
}

void* ToldCallBegins(void*, const ToldCall& call, const void* caller, uintptr_t cfa) {
  Thread* thread = Telling();
  if (!thread) return AsHandle(kNone);
  if (call.captured) {
    CountGap(Gap::kNcclCaptured);
    return AsHandle(kCaptured);
  }
  uint64_t number = g_calls.fetch_add(1) + kFirstCall;
  Pending& pending = g_pending[number % kMaxPending];
  pending.number.store(kNone, std::memory_order_release);
  pending.thread = thread;
  pending.call = call;
  pending.stack = StackOf(*thread, caller, cfa);
  pending.number.store(number, std::memory_order_release);
  return AsHandle(number);
}

void ToldOperationOf(void* handle, int64_t rank, void* parent, const ToldOperation& told,
                     const void* caller, uintptr_t cfa) {
  Thread* thread = Telling();
  if (!thread || AsNumber(parent) == kCaptured) return;
  Comm& comm = *static_cast<Comm*>(handle);
  Tell(*thread, comm, rank, told.hash);
  trace::view::NcclCall call{.comm = AsNumber(handle),
                             .kind = told.kind,
                             .send = AsNumber(told.send),
                             .receive = AsNumber(told.receive),
                             .count = told.count,
                             .datatype = told.datatype,
                             .peer = told.peer,
                             .stream = kNoStream,
                             .group = thread->told_group};
  if (const Pending* pending = CallOf(parent)) {
    // In NCCL's own words: of some operations, the plan knows the bytes alone.
    call.count = pending->call.count;
    call.datatype = pending->call.datatype;
    call.stack = pending->stack;
    // A call whose plan another thread tells of was not launched here, or not now.
    if (pending->thread == thread) {
      call.stream = pending->call.stream ? AsNumber(pending->call.stream) : 1;
      call.context = ContextOf(*thread, call.stream);
    }
  } else {
    call.stack = StackOf(*thread, caller, cfa);
  }
  ++thread->told_calls;
  Note(*thread, call);
}

void ToldStop(void* handle) {
  if (AsNumber(handle) != kPlan) return;
  Thread* thread = Telling();
  if (!thread || thread->told_calls == 0) return;
  uint64_t before = BeginQueueing(*thread);
  NoteQueued(*thread, before,
             {.group = thread->told_group, .how = kByPlugIn, .calls = thread->told_calls});
  thread->told_calls = 0;
}

void ResetTold() {
  for (Comm& comm : g_comms) comm.told.store(false);
  for (Pending& pending : g_pending) pending.number.store(kNone);
}

}  // namespace ss::capture
