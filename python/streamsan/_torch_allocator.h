// The caching allocator of device memory: what it gives out, frees and waits for.
//
// Only observes: the allocator's trace tracker says what was given out and freed, and three entries
// of the allocator's table of virtual functions are led through here (recordStream, which no
// tracker tells of; allocate and raw_alloc, so that the events which the allocator queries inside
// count as its own). A forwarding allocator in its place was rejected: the list of virtual
// functions changes with every release, and PyTorch compares the allocator's address.
//
// The tracker is called under the allocator's lock and without knowing who holds the GIL: no Python
// here.
#ifndef STREAMSAN_TORCH_ALLOCATOR_H_
#define STREAMSAN_TORCH_ALLOCATOR_H_

#include <c10/cuda/CUDACachingAllocator.h>

#include <mutex>
#include <unordered_set>

#include "_torch_context.h"
#include "_torch_experiment.h"
#include "_torch_table.h"

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;
using c10::cuda::CUDACachingAllocator::TraceEntry;

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
  if (g_experiment != Experiment::kNone) {
    NoteLive({PoolOf(entry), static_cast<size_t>(entry.addr_), static_cast<size_t>(entry.size_),
              entry.stream_, static_cast<int>(entry.device_), false});
  }
  Frame* frame = Innermost(thread, __builtin_frame_address(0));
  if (!frame) return;
  frame->alloc_base = entry.addr_;
  frame->alloc_bytes = entry.size_;
  frame->alloc_stream = entry.stream_;
}

void TellFree(const void* pool, size_t base) {
  streamsan_pool_free(pool, reinterpret_cast<void*>(base));
  Count(&g_counts.frees);
}

void OnFree(ThreadState& thread, const TraceEntry& entry) {
  size_t base = entry.addr_;
  bool held = g_experiment != Experiment::kNone && SettleHeld(base, PoolOf(entry));
  if (!held) TellFree(PoolOf(entry), base);
  thread.freeing = held ? 0 : base;
  thread.freeing_recorded = TakeRecorded(base);
}

void OnTrace(const TraceEntry& entry) {
  if (streamsan_torch_forked) return;
  ThreadState& thread = This();
  SettleFree(thread, entry);
  if (entry.action_ == TraceEntry::ALLOC) OnAlloc(thread, entry);
  if (entry.action_ == TraceEntry::FREE_REQUESTED) OnFree(thread, entry);
  if (entry.action_ == TraceEntry::OOM) Count(&g_counts.out_of_memory);
}

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
  if (g_experiment != Experiment::kNone) return AllocateHeld(self, bytes, g_allocate);
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
  c10::DeleterFnPtr deleter = data.get_deleter();
  bool ours = deleter == self->raw_deleter() || deleter == HoldDelete;
  if (data.get() && ours) {  // others the allocator ignores
    size_t base = reinterpret_cast<size_t>(data.get());
    {
      std::lock_guard<std::mutex> guard(g_recorded_lock);
      g_recorded.insert(base);
    }
    Count(&g_counts.recordings);
    HereInPython here(This());
    streamsan_pool_record_use(nullptr, data.get(), stream.stream());
  }
  g_record_stream(self, data, stream);
}

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

}  // namespace
#endif  // STREAMSAN_TORCH_ALLOCATOR_H_
