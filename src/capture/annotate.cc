// The table behind annotate.h. Each function only records; the program's addresses are never read.
#include "streamsan/annotate.h"

#include "src/capture/driver.h"
#include "src/capture/intern.h"
#include "src/capture/ranges.h"
#include "src/capture/session.h"
#include "src/capture/stack.h"
#include "src/capture/trial.h"

namespace ss::capture {
namespace {

uint64_t Word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// annotate.h: 0 is the legacy default stream.
uint64_t Stream(const void* stream) { return stream ? Word(stream) : 1; }

// An annotation is a use of the tool, so it opens the session even where no driver is (yet) in use.
Thread* Annotating() { return CurrentThread(true); }

// A parameter word can only pass the sieve if its block widened it, whoever allocated the block.
void Widen(const void* base, size_t bytes) {
  g_ranges.device.Widen(Word(base), Word(base) + bytes);
}

uint64_t ContextFor(Thread& thread, uint64_t stream) {
  if (!DriverLoaded()) return 0;
  uint64_t context = ContextOf(thread, stream);
  // A thread that has called nothing of CUDA yet (autograd's) speaks of the device's default
  // stream.
  return context ? context : OnlyContext();
}

// Only where it is inlined into the table's function does this name the program's call.
#define SS_STACK(thread) \
  StackOf(thread, __builtin_return_address(0), reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()))

void Buffer(const void* base, size_t bytes, const char* name) {
  Thread* thread = Annotating();
  if (!thread) return;
  Widen(base, bytes);
  uint64_t text = TextId(*thread, name ? name : "");
  Note(*thread, trace::view::NoteBuffer{.address = Word(base), .bytes = bytes, .text_id = text});
}

void KernelAccess(const void* function, uint32_t offset, uint32_t mode) {
  Thread* thread = Annotating();
  if (!thread) return;
  Note(*thread,
       trace::view::NoteKernelAccess{.function = Word(function), .offset = offset, .mode = mode});
}

void Access(const void* stream, const void* base, size_t bytes, uint32_t mode) {
  Thread* thread = Annotating();
  if (!thread) return;
  Note(*thread, trace::view::NoteAccess{
                    .stream = Stream(stream), .address = Word(base), .bytes = bytes, .mode = mode});
}

void HostAccess(const void* base, size_t bytes, uint32_t mode) {
  Thread* thread = Annotating();
  if (!thread) return;
  TellNow(*thread);
  uint64_t stack = SS_STACK(*thread);
  TrialNote(*thread, stack);
  Note(*thread, trace::view::NoteHostAccess{.address = Word(base),
                                            .bytes = bytes,
                                            .mode = mode,
                                            .token = thread->host_token,
                                            .stack = stack});
}

void Release(const void* tag) {
  Thread* thread = Annotating();
  if (thread) Note(*thread, trace::view::NoteRelease{.tag = Word(tag)});
}

void Acquire(const void* tag) {
  Thread* thread = Annotating();
  if (thread) Note(*thread, trace::view::NoteAcquire{.tag = Word(tag)});
}

void PoolAlloc(const void* pool, const void* base, size_t bytes, const void* stream) {
  Thread* thread = Annotating();
  if (!thread) return;
  TellNow(*thread);
  Widen(base, bytes);
  uint64_t handle = Stream(stream);
  uint64_t context = ContextFor(*thread, handle);
  uint64_t stack = SS_STACK(*thread);
  Note(*thread, trace::view::NotePoolAlloc{.pool = Word(pool),
                                           .address = Word(base),
                                           .bytes = bytes,
                                           .stream = handle,
                                           .context = context,
                                           .stack = stack});
}

void HostPoolAlloc(const void* pool, const void* base, size_t bytes) {
  Thread* thread = Annotating();
  if (!thread) return;
  TellNow(*thread);
  Widen(base, bytes);
  uint64_t stack = SS_STACK(*thread);
  Note(*thread,
       trace::view::NotePoolAlloc{
           .pool = Word(pool), .address = Word(base), .bytes = bytes, .stack = stack, .host = 1});
}

void PoolFree(const void* pool, const void* base) {
  Thread* thread = Annotating();
  if (!thread) return;
  TellNow(*thread);
  uint64_t stack = SS_STACK(*thread);
  TrialNote(*thread, stack);
  Note(*thread,
       trace::view::NotePoolFree{.pool = Word(pool), .address = Word(base), .stack = stack});
}

void PoolRecordUse(const void* pool, const void* base, const void* stream) {
  Thread* thread = Annotating();
  if (!thread) return;
  TellNow(*thread);
  uint64_t handle = Stream(stream);
  uint64_t context = ContextFor(*thread, handle);
  uint64_t stack = SS_STACK(*thread);
  Note(*thread, trace::view::NotePoolRecordUse{.pool = Word(pool),
                                               .address = Word(base),
                                               .stream = handle,
                                               .context = context,
                                               .stack = stack});
}

void Fill(const void* stream, const void* base, size_t bytes) {
  Thread* thread = Annotating();
  if (!thread) return;
  Note(*thread,
       trace::view::NoteFill{.stream = Stream(stream), .address = Word(base), .bytes = bytes});
}

void DeviceFlag(const void* base, size_t bytes) {
  Thread* thread = Annotating();
  if (thread) Note(*thread, trace::view::NoteDeviceFlag{.address = Word(base), .bytes = bytes});
}

void StreamName(const void* stream, const char* name) {
  Thread* thread = Annotating();
  if (!thread) return;
  uint64_t handle = Stream(stream);
  uint64_t context = ContextFor(*thread, handle);
  uint64_t text = TextId(*thread, name ? name : "");
  Note(*thread, trace::view::NoteStreamName{.stream = handle, .context = context, .text_id = text});
}

void ThreadName(const char* name) {
  Thread* thread = Annotating();
  if (!thread) return;
  uint64_t text = TextId(*thread, name ? name : "");
  Note(*thread, trace::view::NoteThreadName{.text_id = text});
}

void PoolEnter(const void*) {
  Thread* thread = Annotating();
  if (thread) ++thread->in_allocator;
}

void PoolLeave(const void*) {
  Thread* thread = Annotating();
  if (thread && thread->in_allocator) --thread->in_allocator;
}

uint64_t Text(const char* text) {
  Thread* thread = Annotating();
  return thread && text ? TextId(*thread, text) : 0;
}

streamsan_context* ThreadContext() { return &t_context; }

uint32_t WantsStacks() { return TheOptions().stacks; }

void WatchContext(void (*refresh)(streamsan_context*)) {
  g_refresh_context.store(refresh, std::memory_order_release);
}

uint32_t Mark(uint64_t token) {
  Thread* thread = CurrentThread();  // opens no session
  if (!thread) return 0;
  Note(*thread, trace::view::Mark{.token = token});
  return 1;
}

// In pieces that fit into a record whatever the numbers are.
void OperatorTensors(const uint64_t* triples, uint32_t count, uint32_t complete) {
  constexpr uint32_t kPiece = 256;
  Thread* thread = CurrentThread();
  if (!thread) return;
  uint32_t done = 0;
  do {
    uint32_t piece = count - done < kPiece ? count - done : kPiece;
    Note(*thread,
         trace::view::OperatorTensors{.tensors = {triples + size_t{3} * done, size_t{3} * piece},
                                      .complete = complete});
    done += piece;
  } while (done < count);
}

void PlugIn(uint32_t gap, const char* text);

void Pause(uint32_t on) {
  if (on) PlugIn(1, "recording was paused by the program");
  PauseRecording(on != 0);
}

void PlugIn(uint32_t gap, const char* text) {
  Thread* thread = Annotating();
  if (!thread) return;
  uint64_t id = TextId(*thread, text ? text : "");
  Note(*thread, trace::view::PlugIn{.gap = gap, .text_id = id});
}

}  // namespace

extern "C"
    [[gnu::visibility("default"), gnu::used]] const streamsan_table streamsan_annotate_table_v1 = {
        .size = sizeof(streamsan_table),
        .version = 1,
        .buffer = Buffer,
        .kernel_access = KernelAccess,
        .access = Access,
        .host_access = HostAccess,
        .release = Release,
        .acquire = Acquire,
        .pool_alloc = PoolAlloc,
        .pool_free = PoolFree,
        .pool_record_use = PoolRecordUse,
        .fill = Fill,
        .device_flag = DeviceFlag,
        .stream_name = StreamName,
        .thread_name = ThreadName,
        .pool_enter = PoolEnter,
        .pool_leave = PoolLeave,
        .text = Text,
        .thread_context = ThreadContext,
        .plug_in = PlugIn,
        .mark = Mark,
        .host_pool_alloc = HostPoolAlloc,
        .pause = Pause,
        .operator_tensors = OperatorTensors,
        .watch_context = WatchContext,
        .wants_stacks = WantsStacks,
};

}  // namespace ss::capture
