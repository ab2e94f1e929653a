// Operators and other scopes that PyTorch tells of, at their begin and end.
#ifndef STREAMSAN_TORCH_HEARD_H_
#define STREAMSAN_TORCH_HEARD_H_

#include <ATen/record_function.h>

#include <memory>

#include "_torch_context.h"
#include "_torch_host_accesses.h"
#include "_torch_lists.h"
#include "_torch_tensors.h"

namespace {

void SetContext(const at::RecordFunction& fn, ThreadState& thread, Frame& frame) {
  streamsan_context outer = ContextAt(thread, thread.depth - 1);
  Frame* parent = thread.depth > 1 ? &frame - 1 : nullptr;
  streamsan_context node;
  EnterOperator(frame, parent, !parent && ContextOfNode(thread, &node), &outer);
  frame.context = outer;
  if (IsRemembered(fn.threadId(), fn.seqNr(), frame.call)) return;
  Remember(fn.threadId(), fn.seqNr(), frame.call, frame.context);
}

void NoteAFill(const Frame& frame, const Frame* parent) {
  if (frame.op->kind == kFills && parent && parent->op->kind == kAllocates) NoteFill(*parent);
}

std::unique_ptr<at::ObserverContext> OnBegin(const at::RecordFunction& fn) {
  if (streamsan_torch_forked) return nullptr;
  ThreadState& thread = This();
  g_lists.LeadNew();
  Frame* parent = Innermost(thread, __builtin_frame_address(0));
  if (thread.depth++ >= kMaxDepth) return nullptr;
  Frame& frame = thread.frames[thread.depth - 1];
  frame.fn = &fn;
  frame.slot = nullptr;
  frame.call = streamsan_torch_python_call();
  frame.op = Find(thread, fn);
  frame.alloc_base = 0;
  frame.host_accesses = 0;
  frame.told_tensors = false;
  frame.placed = false;
  SetContext(fn, thread, frame);
  NoteAFill(frame, parent);
  if (fn.inputs().empty() || !frame.op->touches) return nullptr;
  if (frame.op->told_at_begin) {
    frame.told_tensors = TellTensors(fn.inputs(), frame.op->signature);
  }
  LookAtArguments(fn, thread, frame, parent);
  return nullptr;
}

// One that began elsewhere (before the callback was there, in another thread) is not among the
// frames; one that is never ended here goes with those around it.
void OnEnd(const at::RecordFunction& fn, at::ObserverContext*) {
  if (streamsan_torch_forked) return;
  ThreadState& thread = This();
  if (thread.depth > kMaxDepth) {
    --thread.depth;
    return;
  }
  for (uint32_t depth = thread.depth; depth > 0; --depth) {
    if (thread.frames[depth - 1].slot || thread.frames[depth - 1].fn != &fn) continue;
    TellHostAccesses(thread.frames[depth - 1]);
    if (thread.frames[depth - 1].told_tensors) TellNoTensors();
    thread.depth = depth - 1;
    return;
  }
}

}  // namespace
#endif  // STREAMSAN_TORCH_HEARD_H_
