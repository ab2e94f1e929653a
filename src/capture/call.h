// One intercepted call: from the stub to the handler, through the driver, into a record.
#pragma once

#include <cuda.h>

#include "src/capture/breadcrumbs.h"
#include "src/capture/counts.h"
#include "src/capture/driver.h"
#include "src/capture/nccl.h"
#include "src/capture/session.h"
#include "src/capture/trial.h"

extern "C" [[gnu::visibility("hidden")]] void* ss_entries[];

namespace ss::capture {

inline constexpr const char* kHookSymbols[] = {
#define MODELLED(symbol, base, since, per_thread, handler) #symbol,
#define COUNTED(symbol, base, since, per_thread, reason) #symbol,
#include "src/capture/hooks.def"
#undef MODELLED
#undef COUNTED
};

// What NCCL queues and waits for inside its calls stands in the trace as the program's operation;
// its launches are recorded all the same, marked.
constexpr bool IsWithinNcclCalls(const char* symbol) {
  constexpr const char* kStarts[] = {"cuMemcpy",
                                     "cuMemset",
                                     "cuEventRecord",
                                     "cuEventQuery",
                                     "cuEventSynchronize",
                                     "cuEventElapsedTime",
                                     "cuStreamWaitEvent",
                                     "cuStreamSynchronize",
                                     "cuStreamQuery",
                                     "cuStreamAddCallback",
                                     "cuCtxSynchronize",
                                     "cuLaunchHostFunc",
                                     "cuGraph",
                                     "cuStreamUpdateCapture",
                                     "cuStreamWriteValue",
                                     "cuStreamWaitValue",
                                     "cuStreamBatchMemOp"};
  for (const char* start : kStarts) {
    const char* at = symbol;
    while (*start && *start == *at) ++start, ++at;
    if (!*start) return true;
  }
  return false;
}

// A call that is not recorded by itself.
struct RawCall {
  Hook hook;
  bool per_thread;
  const void* caller;  // return address in the program
  uintptr_t cfa;       // stack pointer of the program at the call

  template <class... A>
  CUresult Plain(A... arguments) {
    return reinterpret_cast<CUresult (*)(A...)>(Real(hook))(arguments...);
  }
};

// A handler's view of a recorded call. Usage, with everything interned before Forward:
//   uint64_t stack = call.Stack();
//   CUresult result = call.Forward(args...);
//   call.Emit(trace::view::X{...});  // one or several
struct Call : RawCall {
  Thread* thread = nullptr;
  uint64_t before = 0;
  uint64_t after = 0;

  Call(const RawCall& raw, Thread* current) : RawCall(raw), thread(current) {}
  ~Call() { thread->ring->End(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  template <class... A>
  CUresult Forward(A... arguments) {
    before = thread->ring->Begin();
    TellTime(*thread, before);
    TellContext(*thread, before);
    const bool on_trial = IsOnTrial(stack_);
    if (on_trial) [[unlikely]]
      TrialBefore(*thread, before, stack_, stream_);
    thread->in_driver = true;
    CUresult result = Plain(arguments...);
    thread->in_driver = false;
    if (on_trial) [[unlikely]]
      TrialAfter(*thread, before, stack_, stream_, result);
    after = thread->ring->Next();
    TellTime(*thread, after);
    return result;
  }

  // What stands behind an operation that a stream has still to do.
  template <class View>
  void Mark(const View& view) {
    if constexpr (requires {
                    view.stream;
                    view.context;
                    view.result;
                    view.graph_node;
                  }) {
      if (!BreadcrumbsOn()) return;
      if constexpr (requires { view.blocking; }) {
        if (view.blocking) return;
      }
      if (view.result == 0 && view.graph_node == 0 && view.stream != 0 && !thread->in_nccl)
        LeaveBreadcrumb(view.stream, view.context, before);
    }
  }

  template <class View>
  void Emit(const View& view) {
    Mark(view);
    size_t bytes = trace::Encode(thread->record, trace::kMaxRecord, before, after, view);
    thread->ring->Append(thread->record, bytes);
    if (CountedCallSeen()) NoteCountedCalls(*thread);
    if (++thread->records % kCountersInterval == 0) NoteCounters(*thread);
  }

  uint64_t Stack();  // stack id of the program's call site, 0 = not wanted

  // Handle 0 as the API variant means it: 0x1 legacy, 0x2 per-thread.
  uint64_t Stream(CUstream stream) {
    auto handle = reinterpret_cast<uint64_t>(stream);
    return stream_ = handle ? handle : per_thread ? 2 : 1;
  }

 private:
  uint64_t stack_ = 0, stream_ = 0;  // as the handler asked for them; 0 = it did not
};

// Whether the caller is cuBLAS, cuDNN or NCCL (memory.cc).
bool IsPrivate(const Call& call);

// What ss_entries points to for a modelled row.
template <Hook hook, bool per_thread, auto handler>
struct Entry;

template <Hook hook, bool per_thread, class... A, CUresult (*handler)(RawCall&, A...)>
struct Entry<hook, per_thread, handler> {
  static CUresult Enter(A... arguments) {
    CountCall(hook);
    RawCall call{hook, per_thread, __builtin_return_address(0),
                 reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa())};
    return handler(call, arguments...);
  }
};

template <Hook hook, bool per_thread, class... A, CUresult (*handler)(Call&, A...)>
struct Entry<hook, per_thread, handler> {
  static CUresult Enter(A... arguments) {
    RawCall raw{hook, per_thread, __builtin_return_address(0),
                reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa())};
    Thread* thread = CurrentThread();
    if (!thread || thread->in_driver) return raw.Plain(arguments...);
    CountCall(hook);
    if constexpr (IsWithinNcclCalls(kHookSymbols[hook])) {
      if (IsNcclsOwn(*thread, raw.caller)) return raw.Plain(arguments...);
    }
    RefreshContext();
    Call call(raw, thread);
    return handler(call, arguments...);
  }
};

}  // namespace ss::capture
