// Which operator runs in each thread, what of pinned memory it touches on the CPU, and whose fills
// are the allocator's.
#ifndef STREAMSAN_TORCH_OPERATORS_H_
#define STREAMSAN_TORCH_OPERATORS_H_

#include <ATen/record_function.h>
#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "_torch_arguments.h"
#include "_torch_helper.h"
#include "_torch_lists.h"
#include "_torch_modules.h"
#include "_torch_pinned.h"
#include "_torch_tensors.h"
#include "streamsan/annotate.h"

namespace {

streamsan_torch_counts g_counts;

void Count(uint64_t* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

constexpr uint32_t kMaxDepth = 128;
constexpr size_t kCached = 512;   // operators a thread
constexpr uint32_t kIdle = 4096;  // operators whose arguments held nothing, before they are let go
constexpr uint64_t kForwards = 1 << 16;  // operators whose backward may still come

enum Kind : uint8_t { kPlain, kAllocates, kFills };

struct Operator {
  uint64_t text = 0;  // the capture library's id of the name
  Kind kind = kPlain;
  bool touches = true;         // the data of its tensors: not one that makes views or new tensors
  bool lasting = false;        // the name stays where it is: an operator, and no other scope
  bool told_at_begin = false;  // its tensors
  Signature signature;
  std::string name;
};

// What a thread looks at to know an operator again: one cache line.
struct alignas(64) Known {
  const char* at = nullptr;
  const Operator* op = nullptr;
  char name[48] = {};
};
static_assert(sizeof(Known) == 64);

struct HostAccess {
  size_t base = 0, bytes = 0;
  uint32_t mode = 0;
};
constexpr uint32_t kMaxHostAccesses = 8;  // of one operator

// An operator or a node of autograd's graph that runs. PyTorch tells of the end of those that a
// callback hears; the others are told apart from what is over by their stack frame
// (_torch_unheard.h).
struct alignas(64) Frame {
  const void* fn = nullptr;           // what was heard; null = not heard
  const void* const* slot = nullptr;  // where its function's return address lies; null = heard
  const void* returns = nullptr;      // that address
  uint64_t call = 0;                  // of Python, at its begin
  const Operator* op = nullptr;
  size_t alloc_base = 0;
  bool backward = false;  // a node of autograd's graph
  bool keeps_name =
      false;  // inside a node written in C++: the node's name says more than its operators'
  bool told_tensors = false;
  uint8_t host_accesses = 0;
  size_t alloc_bytes = 0;
  void* alloc_stream = nullptr;
  streamsan_context context = {};  // of one that is heard: what the thread does directly in it
  HostAccess host[kMaxHostAccesses];
};

// The thread's stack: nothing outside it is read.
struct StackBounds {
  uintptr_t low = 0, high = 0;
  bool Holds(const void* address) const {
    auto at = reinterpret_cast<uintptr_t>(address);
    return at >= low && at < high;
  }
};

StackBounds BoundsHere() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t bytes = 0;
  bool known = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  return {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + bytes};
}

struct ThreadState {
  uint32_t depth = 0;
  bool at_python_line = false;    // for one call: the line counts that Python is at
  size_t freeing = 0;             // a free was requested and nothing has been heard since ...
  bool freeing_recorded = false;  // ... of a block with recorded streams
  StackBounds stack = BoundsHere();
  Frame frames[kMaxDepth];
  uint32_t idle = 0;  // operators since the last one whose arguments held pinned memory
  Known known[kCached];
  const Operator* scopes[kCached] = {};
};

// Created at the first use and never destroyed: frees still come while a thread ends.
ThreadState& This() {
  static thread_local ThreadState* state = nullptr;
  if (!state) state = new ThreadState;
  return *state;
}

// An operator that gives out memory which PyTorch then may fill with NaN by itself
// (torch.utils.deterministic.fill_uninitialized_memory): a fill_ directly inside one is that.
Kind KindOf(const std::string& name) {
  static const char* const kAllocating[] = {"aten::empty", "aten::empty_strided", "aten::resize_",
                                            "aten::empty_like", "aten::new_empty_strided"};
  if (name == "aten::fill_") return kFills;
  for (const char* allocating : kAllocating) {
    if (name == allocating) return kAllocates;
  }
  return kPlain;
}

// Views alias an argument and write none; the others only look at sizes.
bool TouchesData(const Signature& signature, const std::string& name, Kind kind) {
  static const char* const kSizesOnly[] = {
      "aten::new_empty",   "aten::new_zeros",    "aten::new_ones",  "aten::new_full",
      "aten::zeros_like",  "aten::ones_like",    "aten::full_like", "aten::rand_like",
      "aten::randn_like",  "aten::randint_like", "aten::is_pinned", "aten::set_",
      "aten::result_type", "aten::size",         "aten::stride",    "aten::record_stream"};
  if (kind == kAllocates) return false;
  for (const char* sizes : kSizesOnly) {
    if (name == sizes) return false;
  }
  return signature.writes || !signature.aliases;
}

// One for each name and overload.
class Operators {
 public:
  const Operator* Find(const at::RecordFunction& fn, const char* name) {
    std::lock_guard<std::mutex> guard(lock_);
    auto known = by_address_.find(name);
    if (known != by_address_.end() && known->second->name == name) return known->second;
    std::optional<c10::FunctionSchema> schema = fn.operator_schema();
    if (!schema) return Make(nullptr, name);
    return by_address_[name] = Make(&*schema, name);
  }

  const Operator* Find(const c10::FunctionSchema& schema) {
    std::lock_guard<std::mutex> guard(lock_);
    return Make(&schema, schema.name());
  }

 private:
  const Operator* Make(const c10::FunctionSchema* schema, const std::string& name) {
    std::string key = schema ? name + '.' + schema->overload_name() : name;
    std::unique_ptr<Operator>& op = operators_[key];
    if (op) return op.get();
    Kind kind = KindOf(name);
    Signature signature = schema ? SignatureOf(*schema) : Signature();
    bool touches = TouchesData(signature, name, kind);
    bool told_at_begin =
        signature.takes_list && touches && g_lists.ToldAtBegin(schema->operator_name());
    op.reset(new Operator{streamsan_text(name.c_str()), kind, touches, schema != nullptr,
                          told_at_begin, std::move(signature), name});
    return op.get();
  }

  std::mutex lock_;
  // Names of operators stay where they are, and each overload has its own; names of other scopes
  // are temporaries.
  std::unordered_map<const void*, const Operator*> by_address_;
  std::unordered_map<std::string, std::unique_ptr<Operator>> operators_;
};

Operators& g_operators_seen = *new Operators;

size_t HashOf(std::string_view text) {
  uint64_t hash = text.size();
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

// A scope that is no operator: nodes of autograd's graph, and what else has no schema.
const Operator* FindScope(ThreadState& thread, const at::RecordFunction& fn, const char* name) {
  std::string_view text = name;
  const Operator*& known = thread.scopes[HashOf(text) % kCached];
  if (known && known->name == text) return known;
  const Operator* op = g_operators_seen.Find(fn, name);
  if (!op->lasting) known = op;
  return op;
}

// By the address of the name, which for operators lives as long as its schema; the text is compared
// too, because names of other scopes are temporaries.
const Operator* Find(ThreadState& thread, const at::RecordFunction& fn) {
  const char* name = fn.name();
  size_t at = (reinterpret_cast<uintptr_t>(name) >> 3) * 0x9e3779b97f4a7c15 >> 55;
  static_assert(kCached == 512, "9 bits of the product");
  Known& known = thread.known[at];
  Known& second = thread.known[at ^ 1];
  if (known.at == name && !strcmp(known.name, name)) return known.op;
  if (second.at == name && !strcmp(second.name, name)) return second.op;
  const Operator* op = FindScope(thread, fn, name);
  if (op->lasting && op->name.size() < sizeof known.name) {
    second = known;
    known.at = name;
    known.op = op;
    memcpy(known.name, op->name.c_str(), op->name.size() + 1);
  }
  return op;
}

// What a forward operator was doing, for its backward: by autograd's sequence number.
struct Forward {
  std::atomic<uint64_t> key{0};
  uint64_t call = 0;  // of Python
  streamsan_context context;
};
Forward* g_forwards;

uint64_t KeyOf(uint64_t thread, int64_t sequence) {
  return (thread << 40) + static_cast<uint64_t>(sequence) + 1;
}

Forward& ForwardOf(int64_t sequence) {
  return g_forwards[static_cast<uint64_t>(sequence) % kForwards];
}

// Of the operators of one number, that which made the node: the last one that Python calls, since
// those before made none; and of those inside that one, the outermost.
bool IsRemembered(uint64_t thread, int64_t sequence, uint64_t call) {
  if (sequence < 0 || !g_forwards) return true;
  const Forward& forward = ForwardOf(sequence);
  return forward.key.load(std::memory_order_relaxed) == KeyOf(thread, sequence) &&
         forward.call == call;
}

void Remember(uint64_t thread, int64_t sequence, uint64_t call, const streamsan_context& context) {
  Forward& forward = ForwardOf(sequence);
  forward.key.store(0, std::memory_order_release);
  forward.call = call;
  forward.context = context;
  forward.key.store(KeyOf(thread, sequence), std::memory_order_release);
}

// A torn read is possible where the table wraps in the middle of it; the key is checked again then.
void Recall(const at::RecordFunction& fn, streamsan_context* context) {
  if (fn.seqNr() < 0 || !g_forwards) return;
  const Forward& forward = ForwardOf(fn.seqNr());
  uint64_t key = KeyOf(fn.forwardThreadId(), fn.seqNr());
  if (forward.key.load(std::memory_order_acquire) != key) return;
  streamsan_context found = forward.context;
  if (forward.key.load(std::memory_order_acquire) != key) return;
  context->forward_text = found.operator_text;
  context->module_text = found.module_text;
  context->site_text = found.site_text;
}

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

// Whose Python line and module count: that of operators which Python calls, and not of those inside
// them.
void EnterOperator(Frame& frame, const Frame* parent, streamsan_context* now) {
  if (!parent) {
    streamsan_torch_place place = streamsan_torch_python_place();
    now->site_text = place.site;
    now->module_text = place.module;
    frame.keeps_name = false;
  } else if (parent->backward) {
    streamsan_torch_place place = streamsan_torch_python_place();
    if (place.site) now->site_text = place.site;
    if (place.module) now->module_text = place.module;
    frame.keeps_name = !place.site;
  } else {
    frame.keeps_name = parent->keeps_name;
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
  for (uint32_t at = heard; at < depth; ++at) {
    EnterOperator(thread.frames[at], at ? &thread.frames[at - 1] : nullptr, &now);
  }
  return now;
}

void AtPythonLine(streamsan_context* now) {
  streamsan_torch_place place = streamsan_torch_python_place();
  if (place.site) now->site_text = place.site;
  if (place.module) now->module_text = place.module;
}

// Whenever a call is recorded: few operators make any.
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

bool PinnedRange(const at::Tensor& tensor, HostAccess* access) {
  access->base = BaseOf(tensor);
  if (!access->base || !g_pinned.Contains(access->base)) return false;
  access->bytes = BytesOf(tensor);
  return true;
}

// False: the operator is the device's, and what it does to pinned memory are the driver's copies.
bool OnTheCpu(const c10::IValue& input) {
  if (input.isTensor()) return !input.toTensor().defined() || input.toTensor().is_cpu();
  if (input.isDevice()) return input.toDevice().is_cpu();
  return true;
}

struct Argument {
  uint32_t at;
  HostAccess access;
};

constexpr uint32_t kDevices = ~0u;

// How many arguments are pinned (few operators have any), or kDevices.
uint32_t FindPinned(c10::ArrayRef<const c10::IValue> inputs, Argument* found) {
  uint32_t count = 0;
  auto look = [&](uint32_t at, const at::Tensor& tensor) {
    if (count < kMaxHostAccesses && PinnedRange(tensor, &found[count].access))
      found[count++].at = at;
  };
  for (uint32_t at = 0; at < inputs.size(); ++at) {
    const c10::IValue& input = inputs[at];
    if (!OnTheCpu(input)) return kDevices;
    if (input.isTensor() && input.toTensor().defined()) look(at, input.toTensor());
    if (!input.isTensorList()) continue;
    for (const at::Tensor& tensor : input.toTensorVector()) {
      if (!tensor.is_cpu()) return kDevices;
      look(at, tensor);
    }
  }
  return count;
}

// What a CPU operator does to pinned memory, as its schema says. It is told at its end, by the
// innermost operator that has the memory for an argument: that one does the work, or has the driver
// do it.
void FindHostAccesses(const at::RecordFunction& fn, Frame& frame, Frame* parent) {
  Argument found[kMaxHostAccesses];
  uint32_t count = FindPinned(fn.inputs(), found);
  if (count == 0) return;
  if (parent) parent->host_accesses = 0;
  if (count == kDevices) return;
  const std::vector<uint8_t>& modes = frame.op->signature.modes;
  for (uint32_t i = 0; i < count; ++i) {
    if (found[i].at >= modes.size()) continue;
    HostAccess& access = frame.host[frame.host_accesses++] = found[i].access;
    access.mode = modes[found[i].at] & kWrites ? STREAMSAN_WRITE : STREAMSAN_READ;
  }
}

void TellHostAccesses(const Frame& frame) {
  for (uint32_t i = 0; i < frame.host_accesses; ++i) {
    const HostAccess& access = frame.host[i];
    streamsan_host_access(reinterpret_cast<void*>(access.base), access.bytes,
                          static_cast<streamsan_mode>(access.mode));
    Count(&g_counts.host_accesses);
  }
}

// They are here while somebody asked for them. Pinned memory that is gone for a while is let go of.
void LookAtArguments(const at::RecordFunction& fn, ThreadState& thread, Frame& frame,
                     Frame* parent) {
  if (g_pinned.any()) {
    thread.idle = 0;
    FindHostAccesses(fn, frame, parent);
  } else if (++thread.idle == kIdle) {
    thread.idle = 0;
    g_arguments.LetGoOfPinned([] { return g_pinned.any(); });
  }
}

void SetContext(const at::RecordFunction& fn, ThreadState& thread, Frame& frame, Frame* parent) {
  frame.context = ContextAt(thread, thread.depth - 1);
  if (frame.backward) {
    frame.keeps_name = false;
    frame.context.operator_text = frame.op->text;
    return Recall(fn, &frame.context);
  }
  EnterOperator(frame, parent, &frame.context);
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
  frame.backward = fn.scope() == at::RecordScope::BACKWARD_FUNCTION;
  frame.alloc_base = 0;
  frame.host_accesses = 0;
  frame.told_tensors = false;
  SetContext(fn, thread, frame, parent);
  NoteAFill(frame, parent);
  if (fn.inputs().empty() || frame.backward || !frame.op->touches) return nullptr;
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
#endif  // STREAMSAN_TORCH_OPERATORS_H_
