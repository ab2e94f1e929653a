#include "src/capture/stack.h"

#include <unwind.h>

#include "src/capture/counts.h"
#include "src/capture/modules.h"
#include "src/capture/session.h"
#include "src/capture/trial.h"
#include "src/capture/word_map.h"

namespace ss::capture {
namespace {

WordMap g_stacks;  // hash of the addresses -> id
std::atomic<uint64_t> g_next_stack{1};

struct Walk {
  uintptr_t first_slot;  // where the program's return address lies
  uint64_t last_slot = 0;
  bool started = false;
  bool regular = true;  // every address was found in its slot
  size_t count = 0;
  uint64_t addresses[kMaxFrames];
  uint64_t slots[kMaxFrames];

  explicit Walk(uintptr_t cfa) : first_slot(cfa - sizeof(void*)) {}
};

// During the walk the unwinder's CFA is the stack pointer of the frame at its call, so the return
// address into this frame lies right below it.
_Unwind_Reason_Code Step(_Unwind_Context* context, void* opaque) {
  auto& walk = *static_cast<Walk*>(opaque);
  uint64_t slot = _Unwind_GetCFA(context) - sizeof(void*);
  uint64_t address = _Unwind_GetIP(context);
  walk.started |= slot >= walk.first_slot;
  if (!walk.started) return _URC_NO_REASON;  // our own frames
  if (walk.count == kMaxFrames || address == 0) return _URC_END_OF_STACK;
  if (slot <= walk.last_slot) walk.regular = false;
  walk.last_slot = slot;
  walk.slots[walk.count] = slot;
  walk.addresses[walk.count++] = address;
  return _URC_NO_REASON;
}

uint64_t Hash(const uint64_t* addresses, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) {
    hash = (hash ^ addresses[i]) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
  }
  return hash ? hash : 1;
}

uint64_t Intern(Thread& thread, const uint64_t* addresses, size_t count) {
  uint64_t hash = Hash(addresses, count);
  uint64_t id = g_stacks.Get(hash);
  if (id) return id;
  id = g_next_stack.fetch_add(1);
  if (!g_stacks.Insert(hash, id)) {
    id = g_stacks.Get(hash);
    if (id == 0) CountGap(Gap::kTooManyStacks);
    return id;
  }
  NoteModulesFor(thread, addresses, count);
  LookForTrial(id, addresses, count);
  Note(thread, trace::view::Stack{.stack_id = id, .addresses = {addresses, count}});
  return id;
}

bool Cacheable(const Thread& thread, const Walk& walk, uintptr_t cfa) {
  if (!thread.stack_cache || !walk.regular || walk.count == 0) return false;
  if (cfa <= thread.stack_low || walk.last_slot + sizeof(void*) > thread.stack_high) return false;
  for (size_t i = 0; i < walk.count; ++i) {
    if (*reinterpret_cast<const uint64_t*>(walk.slots[i]) != walk.addresses[i]) return false;
  }
  return true;
}

}  // namespace

uint64_t StackOf(Thread& thread, const void* caller, uintptr_t cfa) {
  if (!TheOptions().stacks) return 0;
  StackCache* cache = thread.stack_cache;
  uint64_t id = cache ? cache->Find(caller, cfa, thread.stack_high) : 0;
  if (id) return id;
  Walk walk(cfa);
  _Unwind_Backtrace(Step, &walk);
  if (walk.count == 0) {  // no unwind tables: the call site alone
    walk.addresses[0] = reinterpret_cast<uint64_t>(caller);
    return Intern(thread, walk.addresses, 1);
  }
  id = Intern(thread, walk.addresses, walk.count);
  if (id && Cacheable(thread, walk, cfa)) {
    cache->Add({walk.addresses, walk.slots, walk.count}, cfa, id);
  }
  return id;
}

const void* AuthorOf(const void* caller, uintptr_t cfa) {
  if (!IsCudaRuntime(caller)) return caller;
  Walk walk(cfa);
  _Unwind_Backtrace(Step, &walk);
  for (size_t i = 0; i < walk.count; ++i) {
    auto* code = reinterpret_cast<const void*>(walk.addresses[i]);
    if (!IsCudaRuntime(code)) return code;
  }
  return caller;
}

bool InitStacks() { return g_stacks.Init(20); }

void ResetStacks() {
  g_stacks.Clear();
  g_next_stack.store(1);
}

}  // namespace ss::capture
