// What only PyTorch's own C++ interface tells: what its caching allocator does, and which operator
// runs.
//
// Built by _build_helper.py against the PyTorch that is installed, loaded into the watched program
// once it imports torch. Only observes: the allocator's trace tracker says what was given out and
// freed, and three entries of the allocator's table of virtual functions are led through here
// (recordStream, which no tracker tells of; allocate and raw_alloc, so that the events which the
// allocator queries inside count as its own). A forwarding allocator in its place was rejected: the
// list of virtual functions changes with every release, and PyTorch compares the allocator's
// address.
//
// The tracker is called under the allocator's lock and without knowing who holds the GIL: no Python
// here.
#include "_torch_helper.h"

#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "streamsan/annotate.h"

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;
using c10::cuda::CUDACachingAllocator::TraceEntry;

streamsan_torch_counts g_counts;

void Count(uint64_t* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

// --- operators

constexpr uint32_t kMaxDepth = 128;
constexpr size_t kCached = 512;
constexpr uint64_t kForwards = 1 << 16;  // operators whose backward may still come

enum Kind : uint8_t { kPlain, kAllocates, kFills };

struct Operator {
  std::string name;
  uint64_t text = 0;  // the capture library's id of the name
  Kind kind = kPlain;
};

struct Frame {
  const void* fn = nullptr;
  const Operator* op = nullptr;
  bool backward = false;  // a node of autograd's graph
  bool keeps_name =
      false;  // inside a node written in C++: the node's name says more than its operators'
  streamsan_context outer = {};  // what the thread was doing before
  size_t alloc_base = 0, alloc_bytes = 0;
  void* alloc_stream = nullptr;
};

struct ThreadState {
  streamsan_context* slot = nullptr;  // the capture library's; null = not asked yet
  streamsan_context unwatched = {};   // stands in for it where there is none
  uint32_t depth = 0;
  size_t freeing = 0;             // a free was requested and nothing has been heard since ...
  bool freeing_recorded = false;  // ... of a block with recorded streams
  Frame frames[kMaxDepth];
  const char* names[kCached] = {};
  const Operator* operators[kCached] = {};
};

// Created at the first use and never destroyed: frees still come while a thread ends.
ThreadState& This() {
  static thread_local ThreadState* state = nullptr;
  if (!state) state = new ThreadState;
  if (!state->slot) {
    state->slot = streamsan_thread_context();
    if (!state->slot) state->slot = &state->unwatched;
  }
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

const Operator* Intern(const char* name) {
  static std::mutex lock;
  static auto& operators = *new std::unordered_map<std::string, std::unique_ptr<Operator>>;
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<Operator>& op = operators[name];
  if (!op) op.reset(new Operator{name, streamsan_text(name), KindOf(name)});
  return op.get();
}

// By the address of the name, which for operators lives as long as its schema; the text is compared
// too, because names of other scopes are temporaries.
const Operator* Find(ThreadState& thread, const char* name) {
  size_t at = (reinterpret_cast<uintptr_t>(name) >> 3) * 0x9e3779b97f4a7c15 >> 55;
  static_assert(kCached == 512, "9 bits of the product");
  const Operator* op = thread.operators[at];
  if (thread.names[at] == name && op && !strcmp(op->name.c_str(), name)) return op;
  thread.names[at] = name;
  return thread.operators[at] = Intern(name);
}

// What a forward operator was doing, for its backward: by autograd's sequence number.
struct Forward {
  std::atomic<uint64_t> key{0};
  streamsan_context context;
};
Forward* g_forwards;

uint64_t KeyOf(uint64_t thread, int64_t sequence) {
  return (thread << 40) + static_cast<uint64_t>(sequence) + 1;
}

void Remember(const at::RecordFunction& fn, const streamsan_context& context) {
  if (fn.seqNr() < 0 || !g_forwards) return;
  Forward& forward = g_forwards[static_cast<uint64_t>(fn.seqNr()) % kForwards];
  uint64_t key = KeyOf(fn.threadId(), fn.seqNr());
  if (forward.key.load(std::memory_order_relaxed) == key) return;  // the outermost of the number
  forward.key.store(0, std::memory_order_release);
  forward.context = context;
  forward.key.store(key, std::memory_order_release);
}

// A torn read is possible where the table wraps in the middle of it; the key is checked again then.
void Recall(const at::RecordFunction& fn, streamsan_context* context) {
  if (fn.seqNr() < 0 || !g_forwards) return;
  const Forward& forward = g_forwards[static_cast<uint64_t>(fn.seqNr()) % kForwards];
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

// Whose Python line counts: that of operators which Python calls, and not of those inside them.
void EnterOperator(Frame& frame, const Frame* parent, streamsan_context* now) {
  bool outermost = !parent || parent->backward;
  uint64_t site = outermost ? streamsan_torch_python_site() : 0;
  if (site) now->site_text = site;
  frame.keeps_name = parent && (parent->backward ? !site : parent->keeps_name);
  if (!frame.keeps_name) now->operator_text = frame.op->text;
}

std::unique_ptr<at::ObserverContext> OnBegin(const at::RecordFunction& fn) {
  if (streamsan_torch_forked) return nullptr;
  ThreadState& thread = This();
  if (thread.depth++ >= kMaxDepth) return nullptr;
  Frame& frame = thread.frames[thread.depth - 1];
  const Frame* parent = thread.depth > 1 ? &frame - 1 : nullptr;
  frame.fn = &fn;
  frame.op = Find(thread, fn.name());
  frame.backward = fn.scope() == at::RecordScope::BACKWARD_FUNCTION;
  frame.outer = *thread.slot;
  frame.alloc_base = 0;
  streamsan_context& now = *thread.slot;
  if (frame.backward) {
    frame.keeps_name = false;
    now.operator_text = frame.op->text;
    Recall(fn, &now);
  } else {
    EnterOperator(frame, parent, &now);
    Remember(fn, now);
  }
  if (frame.op->kind == kFills && parent && parent->op->kind == kAllocates) NoteFill(*parent);
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
    if (thread.frames[depth - 1].fn != &fn) continue;
    thread.depth = depth - 1;
    *thread.slot = thread.frames[depth - 1].outer;
    return;
  }
}

// --- the caching allocator

constexpr size_t kSmallSize = 1 << 20;  // blocks up to this come from a pool of their own

// Blocks that can serve the same request have the same pool: by device, memory pool and size class.
const void* PoolOf(const TraceEntry& entry) {
  uint64_t pool = (entry.mempool_.first << 32 ^ entry.mempool_.second) << 9;
  pool |= static_cast<uint64_t>(static_cast<uint8_t>(entry.device_)) << 1;
  pool |= entry.size_ > kSmallSize;
  return reinterpret_cast<const void*>(pool + 1);
}

std::mutex g_recorded_lock;
auto& g_recorded = *new std::unordered_set<size_t>;  // blocks with recorded streams

bool TakeRecorded(size_t base) {
  std::lock_guard<std::mutex> guard(g_recorded_lock);
  return g_recorded.erase(base) != 0;
}

// The allocator completes a free at once unless streams were recorded. One that it does not
// complete, of a block whose recordings were not seen, means that something registers streams past
// us.
void SettleFree(ThreadState& thread, const TraceEntry& entry) {
  size_t freeing = thread.freeing;
  if (!freeing) return;
  thread.freeing = 0;
  bool at_once = entry.action_ == TraceEntry::FREE_COMPLETED && entry.addr_ == freeing;
  if (!at_once && !thread.freeing_recorded) Count(&g_counts.unseen_recordings);
}

void OnAlloc(ThreadState& thread, const TraceEntry& entry) {
  streamsan_pool_alloc(PoolOf(entry), reinterpret_cast<void*>(entry.addr_), entry.size_,
                       entry.stream_);
  Count(&g_counts.allocations);
  if (thread.depth == 0 || thread.depth > kMaxDepth) return;
  Frame& frame = thread.frames[thread.depth - 1];
  frame.alloc_base = entry.addr_;
  frame.alloc_bytes = entry.size_;
  frame.alloc_stream = entry.stream_;
}

void OnFree(ThreadState& thread, const TraceEntry& entry) {
  streamsan_context outer = *thread.slot;
  if (thread.depth == 0) {
    thread.slot->site_text = streamsan_torch_python_site();
  }
  streamsan_pool_free(PoolOf(entry), reinterpret_cast<void*>(entry.addr_));
  *thread.slot = outer;
  thread.freeing = entry.addr_;
  thread.freeing_recorded = TakeRecorded(entry.addr_);
  Count(&g_counts.frees);
}

void OnTrace(const TraceEntry& entry) {
  if (streamsan_torch_forked) return;
  ThreadState& thread = This();
  SettleFree(thread, entry);
  if (entry.action_ == TraceEntry::ALLOC) OnAlloc(thread, entry);
  if (entry.action_ == TraceEntry::FREE_REQUESTED) OnFree(thread, entry);
  if (entry.action_ == TraceEntry::OOM) Count(&g_counts.out_of_memory);
}

// --- the allocator's virtual functions

using Allocate = c10::DataPtr (*)(c10::Allocator*, size_t);
using RawAlloc = void* (*)(CUDAAllocator*, size_t);
using RawAllocOn = void* (*)(CUDAAllocator*, size_t, cudaStream_t);
using RecordStream = void (*)(CUDAAllocator*, const c10::DataPtr&, c10::cuda::CUDAStream);

Allocate g_allocate;
RawAlloc g_raw_alloc;
RawAllocOn g_raw_alloc_on;
RecordStream g_record_stream;

struct InAllocator {
  InAllocator() { streamsan_pool_enter(nullptr); }
  ~InAllocator() { streamsan_pool_leave(nullptr); }
};

c10::DataPtr AllocateHere(c10::Allocator* self, size_t bytes) {
  InAllocator inside;
  return g_allocate(self, bytes);
}

void* RawAllocHere(CUDAAllocator* self, size_t bytes) {
  InAllocator inside;
  return g_raw_alloc(self, bytes);
}

void* RawAllocOnHere(CUDAAllocator* self, size_t bytes, cudaStream_t stream) {
  InAllocator inside;
  return g_raw_alloc_on(self, bytes, stream);
}

void RecordStreamHere(CUDAAllocator* self, const c10::DataPtr& data, c10::cuda::CUDAStream stream) {
  if (data.get() && data.get_deleter() == self->raw_deleter()) {  // others the allocator ignores
    size_t base = reinterpret_cast<size_t>(data.get());
    {
      std::lock_guard<std::mutex> guard(g_recorded_lock);
      g_recorded.insert(base);
    }
    Count(&g_counts.recordings);
    ThreadState& thread = This();
    streamsan_context outer = *thread.slot;
    if (uint64_t site = streamsan_torch_python_site()) thread.slot->site_text = site;
    streamsan_pool_record_use(nullptr, data.get(), stream.stream());
    *thread.slot = outer;
  }
  g_record_stream(self, data, stream);
}

// Itanium C++ ABI, "Member Function Pointers": of a virtual function, 1 + its offset in the table.
template <class Member>
ptrdiff_t SlotOf(Member member) {
  ptrdiff_t words[2];
  static_assert(sizeof member == sizeof words, "not the Itanium ABI");
  memcpy(words, &member, sizeof words);
  return words[0] & 1 ? (words[0] - 1) / static_cast<ptrdiff_t>(sizeof(void*)) : -1;
}

bool IsCode(const void* address) {
  Dl_info info;
  return address && dladdr(address, &info) != 0 && info.dli_fname;
}

constexpr ptrdiff_t kHeader = 2;  // offset to top, type information
constexpr ptrdiff_t kLongest = 256;

// As long as the entries are addresses in some library's image.
ptrdiff_t LengthOf(void** table) {
  ptrdiff_t length = 0;
  while (length < kLongest && IsCode(table[length])) ++length;
  return length;
}

class Redirection {
 public:
  explicit Redirection(void* object) : object_(static_cast<void***>(object)) {
    void** table = *object_;
    length_ = LengthOf(table);
    copy_.assign(table - kHeader, table + length_);
  }

  template <class Member, class Function>
  bool Set(Member member, Function here, Function* original) {
    ptrdiff_t slot = SlotOf(member);
    if (slot < 0 || slot >= length_) return false;
    *original = reinterpret_cast<Function>(copy_[kHeader + slot]);
    copy_[kHeader + slot] = reinterpret_cast<void*>(here);
    return true;
  }

  void Install() {
    auto* table = new std::vector<void*>(std::move(copy_));  // for ever
    __atomic_store_n(object_, table->data() + kHeader, __ATOMIC_RELEASE);
  }

 private:
  void*** object_;
  ptrdiff_t length_;
  std::vector<void*> copy_;
};

bool Redirect(CUDAAllocator* allocator) {
  Redirection redirection(static_cast<c10::Allocator*>(allocator));
  using Record = void (CUDAAllocator::*)(const c10::DataPtr&, c10::cuda::CUDAStream);
  bool good =
      redirection.Set(&c10::Allocator::allocate, AllocateHere, &g_allocate) &&
      redirection.Set(&CUDAAllocator::raw_alloc, RawAllocHere, &g_raw_alloc) &&
      redirection.Set(&CUDAAllocator::raw_alloc_with_stream, RawAllocOnHere, &g_raw_alloc_on) &&
      redirection.Set(static_cast<Record>(&CUDAAllocator::recordStream), RecordStreamHere,
                      &g_record_stream);
  if (good) redirection.Install();
  return good;
}

void OnFork() {
  *This().slot = {};
  streamsan_torch_forked = 1;
}

int Fail(char* message, size_t size, const char* text) {
  snprintf(message, size, "%s", text);
  return -1;
}

}  // namespace

extern "C" {

int streamsan_torch_forked = 0;

[[gnu::visibility("default")]] int streamsan_torch_attach_allocator(char* message, size_t size) {
  try {
    CUDAAllocator* allocator = c10::cuda::CUDACachingAllocator::get();
    std::string name = allocator->name();
    if (name == "cudaMallocAsync") return 1;  // the driver's calls tell everything
    if (name != "native")
      return Fail(message, size, ("allocator " + name + " is not known").c_str());
    // Without the recorded streams, every block that relied on them would be a false finding.
    if (!Redirect(allocator)) return Fail(message, size, "record_stream cannot be observed");
    pthread_atfork(nullptr, nullptr, OnFork);
    allocator->attachAllocatorTraceTracker(OnTrace);
    return 0;
  } catch (const std::exception& error) {
    return Fail(message, size, error.what());
  }
}

[[gnu::visibility("default")]] void streamsan_torch_attach_operators(void) {
  if (!g_forwards) g_forwards = new Forward[kForwards];
  at::addGlobalCallback(
      at::RecordFunctionCallback(OnBegin, OnEnd)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

[[gnu::visibility("default")]] uint64_t streamsan_torch_module(uint64_t text) {
  uint64_t& module = This().slot->module_text;
  uint64_t outer = module;
  module = text;
  return outer;
}

[[gnu::visibility("default")]] uint64_t streamsan_torch_text(const char* text) {
  return streamsan_text(text);
}

[[gnu::visibility("default")]] void streamsan_torch_read_counts(streamsan_torch_counts* counts) {
  *counts = g_counts;
}

}  // extern "C"
