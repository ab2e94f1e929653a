// PyTorch's own operators, as they are called from C++ and Python, are not heard: PyTorch's part of
// a callback costs more than all that is done there. It is noted that one began, and found out when
// a call is recorded whether it is still running. Where nothing can happen that a report would name
// (views, operators that are made of others), not even that is noted.
//
// at::_ops::NAME::call asks getStepCallbacksUnlessEmpty whether anybody listens. Its question is
// answered here: not to us. Whoever else listens (a profiler, or we ourselves while arguments are
// asked for) hears all of them, and so do we then. What backward operators are called by is kept
// here all the same.
#ifndef STREAMSAN_TORCH_UNHEARD_H_
#define STREAMSAN_TORCH_UNHEARD_H_

#include <ATen/SequenceNumber.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "_torch_callers.h"
#include "_torch_got.h"

namespace {

// As PyTorch numbers an operator that callbacks are called for.
bool MayMakeNode() {
  return c10::GradMode::is_enabled() &&
         !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
}

// All that lies no further up the stack than the one that begins is over.
void DropBelow(ThreadState& thread, const void* const* slot) {
  while (thread.depth > 0 && thread.depth <= kMaxDepth) {
    const Frame& frame = thread.frames[thread.depth - 1];
    if (!frame.slot || frame.slot > slot) return;
    --thread.depth;
  }
}

Frame* Push(ThreadState& thread, const Operator* op, const void* const* slot, uint64_t call) {
  if (thread.depth >= kMaxDepth || !thread.stack.Holds(slot)) return nullptr;
  Frame& frame = thread.frames[thread.depth++];
  frame.fn = nullptr;
  frame.slot = slot;
  frame.returns = *slot;
  frame.call = call;
  frame.op = op;
  frame.alloc_base = 0;
  frame.backward = false;
  frame.told_tensors = false;
  frame.host_accesses = 0;
  return &frame;
}

// Whose backward will be called by it; -1: none's.
int64_t NodeToRemember(uint64_t thread_id, uint64_t call) {
  if (!MayMakeNode()) return -1;
  auto sequence = static_cast<int64_t>(at::sequence_number::peek());
  return IsRemembered(thread_id, sequence, call) ? -1 : sequence;
}

// `here` is the frame address of the function that the operator's called.
void Begin(const Caller& caller, const char* here, uint64_t thread_id) {
  ThreadState& thread = This();
  g_lists.LeadNew();
  auto* slot = reinterpret_cast<const void* const*>(here + caller.slot);
  DropBelow(thread, slot);
  uint64_t call = streamsan_torch_python_call();
  int64_t sequence = NodeToRemember(thread_id, call);
  bool matters = sequence >= 0 || caller.op->kind == kFills;
  Frame* parent = matters ? Innermost(thread, here) : nullptr;
  Frame* frame = Push(thread, caller.op, slot, call);
  if (!frame || !matters) return;
  NoteAFill(*frame, parent);
  if (sequence >= 0) Remember(thread_id, sequence, call, ContextAt(thread, thread.depth));
}

// Its frame is of no interest after this.
void BeginSilent(const Caller& caller, const char* here, uint64_t thread_id) {
  uint64_t call = streamsan_torch_python_call();
  int64_t sequence = NodeToRemember(thread_id, call);
  if (sequence < 0) return;
  ThreadState& thread = This();
  Innermost(thread, here);
  if (!Push(thread, caller.op, reinterpret_cast<const void* const*>(here), call)) return;
  Remember(thread_id, sequence, call, ContextAt(thread, thread.depth));
  --thread.depth;
}

using StepCallbacks = std::optional<at::StepCallbacks>;

StepCallbacks CallbacksHere(at::RecordScope scope) {
  StepCallbacks callbacks = at::getStepCallbacksUnlessEmpty(scope);
  if (!callbacks || scope != at::RecordScope::FUNCTION) return callbacks;
  auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const Caller& caller = g_callers.Find(__builtin_return_address(0), here);
  bool ours = callbacks->callbacks_.size() == 1 && callbacks->callbacks_[0].start_ == OnBegin;
  if (!caller.op || !ours || streamsan_torch_forked) return callbacks;
  if (caller.silent) {
    BeginSilent(caller, here, callbacks->thread_id_);
  } else {
    Begin(caller, here, callbacks->thread_id_);
  }
  callbacks.reset();
  return callbacks;
}

// Where that is not possible, everything is heard, which only costs.
void StopHearingOperators() {
  constexpr char kSymbol[] = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";
  auto* asked = reinterpret_cast<const void*>(&at::getStepCallbacksUnlessEmpty);
  LeadImport(asked, kSymbol, reinterpret_cast<void*>(&CallbacksHere));
}

}  // namespace
#endif  // STREAMSAN_TORCH_UNHEARD_H_
