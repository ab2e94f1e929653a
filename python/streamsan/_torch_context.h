// What each thread is doing, and whose fills are the allocator's.
#ifndef STREAMSAN_TORCH_CONTEXT_H_
#define STREAMSAN_TORCH_CONTEXT_H_

#include <algorithm>

#include "_torch_forwards.h"
#include "_torch_helper.h"
#include "_torch_nodes.h"
#include "_torch_operators.h"

namespace {

void NoteFill(const Frame& allocating) {
  if (!allocating.alloc_base) return;
  streamsan_fill(allocating.alloc_stream, reinterpret_cast<void*>(allocating.alloc_base),
                 allocating.alloc_bytes);
  Count(&g_counts.fills);
}

// Whether a function that was not heard to end is still running: its return address is on the
// stack, above all that runs now, and Python has not left the call in which it began. What remains
// of a function that is over passes only where nobody has written over it since, in the same call.
bool IsRunning(const Frame& frame, const void* here) {
  return static_cast<const void*>(frame.slot) > here && *frame.slot == frame.returns &&
         streamsan_torch_python_is_in(frame.call);
}

// The innermost that runs, or null. `here` is an address in the stack frame of the caller.
Frame* Innermost(ThreadState& thread, const void* here) {
  for (; thread.depth > 0; --thread.depth) {
    Frame& frame = thread.frames[std::min(thread.depth, kMaxDepth) - 1];
    if (!frame.slot || IsRunning(frame, here)) return &frame;
  }
  return nullptr;
}

// Where Python is, in what runs as `frame` and nothing that is in it. An operator that is written
// in Python is somewhere else each time.
streamsan_torch_place PlaceOf(Frame& frame) {
  bool in_python = streamsan_torch_python_call() != frame.call;
  if (frame.placed && !in_python) return frame.place;
  streamsan_torch_place place = streamsan_torch_python_place();
  if (!in_python) frame.place = place;
  frame.placed |= !in_python;
  return place;
}

// Whose Python line and module count: that of operators which Python calls, and not of those inside
// them. In a node of autograd's graph, that which the node has from its forward, unless Python runs
// there, too.
void EnterOperator(Frame& frame, const Frame* parent, bool in_node, streamsan_context* now) {
  if (parent) {
    frame.keeps_name = parent->keeps_name;
  } else {
    streamsan_torch_place place = PlaceOf(frame);
    if (place.site || !in_node) now->site_text = place.site;
    if (place.module || !in_node) now->module_text = place.module;
    frame.keeps_name = in_node && !place.site;
  }
  if (!frame.keeps_name) now->operator_text = frame.op->text;
}

// What the thread does directly in frame `depth` - 1.
streamsan_context ContextAt(ThreadState& thread, uint32_t depth) {
  streamsan_context now = {};
  depth = std::min(depth, kMaxDepth);
  uint32_t heard = depth;
  while (heard > 0 && thread.frames[heard - 1].slot) --heard;
  if (heard > 0) now = thread.frames[heard - 1].context;
  bool in_node = heard == 0 && ContextOfNode(thread, &now);
  for (uint32_t at = heard; at < depth; ++at) {
    EnterOperator(thread.frames[at], at ? &thread.frames[at - 1] : nullptr, in_node, &now);
  }
  return now;
}

void AtPythonLine(streamsan_context* now) {
  streamsan_torch_place place = streamsan_torch_python_place();
  if (place.site) now->site_text = place.site;
  if (place.module) now->module_text = place.module;
}

// Whenever a call is recorded: most operators make none.
void AtACall(streamsan_context* now) {
  if (streamsan_torch_forked) return;
  ThreadState& thread = This();
  Innermost(thread, __builtin_frame_address(0));
  *now = ContextAt(thread, thread.depth);
  if (thread.depth == 0 || thread.at_python_line) AtPythonLine(now);
}

// For one call at which an operator's own line is not the one that counts.
class HereInPython {
 public:
  explicit HereInPython(ThreadState& thread) : thread_(thread) { thread_.at_python_line = true; }
  ~HereInPython() { thread_.at_python_line = false; }
  HereInPython(const HereInPython&) = delete;
  HereInPython& operator=(const HereInPython&) = delete;

 private:
  ThreadState& thread_;
};

}  // namespace
#endif  // STREAMSAN_TORCH_CONTEXT_H_
