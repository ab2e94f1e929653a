// PyTorch's own operators, as they are called from C++ and Python, are not heard: PyTorch's part of
// a callback costs more than all that is done there. It is noted that one began, and found out when
// a call is recorded whether it is still running. Where nothing can happen that a report would name
// (views, operators that are made of others), not even that is noted.
//
// at::_ops::NAME::call asks getStepCallbacksUnlessEmpty whether anybody listens, and so do all
// other scopes. That question is answered here: of those other scopes, we do. Whoever else listens
// (a profiler, or we ourselves while arguments are asked for) hears all of them, and so do we then.
#ifndef STREAMSAN_TORCH_UNHEARD_H_
#define STREAMSAN_TORCH_UNHEARD_H_

#include <ATen/SequenceNumber.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "_torch_callers.h"
#include "_torch_got.h"
#include "_torch_heard.h"

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
  frame.told_tensors = false;
  frame.placed = false;
  frame.host_accesses = 0;
  return &frame;
}

// That of the node which the operator makes; -1: none, or it is remembered.
int64_t NodeToRemember(uint64_t call) {
  if (!MayMakeNode()) return -1;
  auto sequence = static_cast<int64_t>(at::sequence_number::peek());
  return IsRemembered(at::RecordFunction::currentThreadId(), sequence, call) ? -1 : sequence;
}

void RememberHere(ThreadState& thread, int64_t sequence, uint64_t call) {
  Remember(at::RecordFunction::currentThreadId(), sequence, call, ContextAt(thread, thread.depth));
}

// `here` is the frame address of the function that the operator's called.
void Begin(const Caller& caller, const char* here) {
  ThreadState& thread = This();
  g_lists.LeadNew();
  auto* slot = reinterpret_cast<const void* const*>(here + caller.slot);
  DropBelow(thread, slot);
  uint64_t call = streamsan_torch_python_call();
  int64_t sequence = NodeToRemember(call);
  bool matters = sequence >= 0 || caller.op->kind == kFills;
  Frame* parent = matters ? Innermost(thread, here) : nullptr;
  Frame* frame = Push(thread, caller.op, slot, call);
  if (!frame || !matters) return;
  NoteAFill(*frame, parent);
  if (sequence >= 0) RememberHere(thread, sequence, call);
}

// Its frame is of no interest after this.
void BeginSilent(const Caller& caller, const char* here) {
  uint64_t call = streamsan_torch_python_call();
  int64_t sequence = NodeToRemember(call);
  if (sequence < 0) return;
  ThreadState& thread = This();
  Innermost(thread, here);
  if (!Push(thread, caller.op, reinterpret_cast<const void* const*>(here), call)) return;
  RememberHere(thread, sequence, call);
  --thread.depth;
}

using StepCallbacks = std::optional<at::StepCallbacks>;

std::atomic<bool> g_paused{false};
at::CallbackHandle g_heard = 0;  // where all is heard

bool AsksUs(at::RecordScope scope) {
  return scope == at::RecordScope::FUNCTION && !g_paused.load(std::memory_order_relaxed) &&
         !streamsan_torch_forked && g_heard == 0;
}

void Listen(at::StepCallbacks& callbacks) { callbacks.callbacks_.push_back({OnBegin, OnEnd}); }

StepCallbacks CallbacksHere(at::RecordScope scope) {
  StepCallbacks callbacks = at::getStepCallbacksUnlessEmpty(scope);
  if (!AsksUs(scope)) return callbacks;
  auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const Caller& caller = g_callers.Find(__builtin_return_address(0), here);
  if (callbacks) {
    Listen(*callbacks);
  } else if (caller.kind == Caller::kHeard) {
    Listen(callbacks.emplace(at::RecordFunction::currentThreadId(), scope));
  } else if (caller.kind == Caller::kUnheard) {
    Begin(caller, here);
  } else if (caller.kind == Caller::kSilent) {
    BeginSilent(caller, here);
  }
  return callbacks;
}

// RECORD_FUNCTION, which asks in its constructor.
void ConstructHere(void* self, at::RecordScope scope) {
  const void* here = __builtin_frame_address(0);
  if (!AsksUs(scope) ||
      g_callers.Find(__builtin_return_address(0), here).kind == Caller::kIgnored) {
    new (self) at::RecordFunction(scope);
    return;
  }
  at::StepCallbacks callbacks = at::getStepCallbacks(scope);
  Listen(callbacks);
  new (self) at::RecordFunction(std::move(callbacks));
}

// Where that is not possible, everything is heard, which only costs.
void HearOperators() {
  constexpr char kAsk[] = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";
  constexpr char kConstruct[] = "_ZN2at14RecordFunctionC1ENS_11RecordScopeE";
  auto* within = reinterpret_cast<const void*>(&at::getStepCallbacksUnlessEmpty);
  if (LeadImports(kAsk, reinterpret_cast<void*>(&CallbacksHere), within) &&
      LeadImports(kConstruct, reinterpret_cast<void*>(&ConstructHere), within)) {
    return;
  }
  g_heard = at::addGlobalCallback(
      at::RecordFunctionCallback(OnBegin, OnEnd).scopes({at::RecordScope::FUNCTION}));
}

void PauseHearing(bool on) {
  g_paused = on;
  if (g_heard != 0) on ? at::disableCallback(g_heard) : at::reenableCallback(g_heard);
}

}  // namespace
#endif  // STREAMSAN_TORCH_UNHEARD_H_
