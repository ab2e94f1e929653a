// Operators by their names, and which of them each thread is in.
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

#include "_torch_helper.h"
#include "_torch_lists.h"
#include "streamsan/annotate.h"

namespace {

streamsan_torch_counts g_counts;

void Count(uint64_t* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

constexpr uint32_t kMaxDepth = 128;
constexpr size_t kCached = 512;  // operators a thread

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

// An operator or another scope that runs. PyTorch tells of the end of those that a
// callback hears; the others are told apart from what is over by their stack frame
// (_torch_unheard.h).
struct alignas(64) Frame {
  const void* fn = nullptr;           // what was heard; null = not heard
  const void* const* slot = nullptr;  // where its function's return address lies; null = heard
  const void* returns = nullptr;      // that address
  uint64_t call = 0;                  // of Python, at its begin
  const Operator* op = nullptr;
  size_t alloc_base = 0;
  bool keeps_name =
      false;  // inside a node written in C++: the node's name says more than its operators'
  bool told_tensors = false;
  uint8_t host_accesses = 0;
  size_t alloc_bytes = 0;
  void* alloc_stream = nullptr;
  bool placed = false;               // it has `place`, which stays while it runs
  streamsan_torch_place place = {};  // of one that is not heard
  streamsan_context context = {};    // of one that is heard: what the thread does directly in it
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

  const Operator* FindScope(const std::string& name) {
    std::lock_guard<std::mutex> guard(lock_);
    return Make(nullptr, name);
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

// A scope that is no operator: a node of autograd's graph, and what else has no schema. `find` is
// asked for what is not known yet.
template <class Find>
const Operator* FindScope(ThreadState& thread, const char* name, Find find) {
  std::string_view text = name;
  const Operator*& known = thread.scopes[HashOf(text) % kCached];
  if (known && known->name == text) return known;
  const Operator* op = find();
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
  const Operator* op = FindScope(thread, name, [&] { return g_operators_seen.Find(fn, name); });
  if (op->lasting && op->name.size() < sizeof known.name) {
    second = known;
    known.at = name;
    known.op = op;
    memcpy(known.name, op->name.c_str(), op->name.size() + 1);
  }
  return op;
}

}  // namespace
#endif  // STREAMSAN_TORCH_OPERATORS_H_
