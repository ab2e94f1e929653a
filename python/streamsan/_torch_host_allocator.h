// The caching allocator of pinned host memory. Its blocks belong to no stream: freed, one goes to
// whoever asks next, as soon as the streams are done which the copies have told it of.
//
// `allocate` and `record_event` are led through here; a block's free goes through the deleter that
// it carries, which is exchanged for one that tells first. Where this PyTorch has no such interface
// (before 2.8) the file is compiled without it, and each block is one allocation of the driver.
#ifndef STREAMSAN_TORCH_HOST_ALLOCATOR_H_
#define STREAMSAN_TORCH_HOST_ALLOCATOR_H_

#include "_torch_allocator.h"
#include "_torch_arguments.h"
#include "_torch_pinned.h"

#ifndef STREAMSAN_NO_HOST_ALLOCATOR
#include <ATen/core/CachingHostAllocator.h>

namespace {

using HostAllocate = c10::DataPtr (*)(c10::Allocator*, size_t);
using RecordEvent = bool (*)(at::HostAllocator*, void*, void*, c10::Stream);

HostAllocate g_host_allocate;
RecordEvent g_record_event;
std::atomic<c10::DeleterFnPtr> g_host_delete;
const char g_host_pool = 0;  // its address names the pool

void DeleteHere(void* context) {
  if (size_t base = g_pinned.Take(context); base && !streamsan_torch_forked) {
    streamsan_pool_free(&g_host_pool, reinterpret_cast<void*>(base));
  }
  g_host_delete.load(std::memory_order_relaxed)(context);
}

c10::DataPtr HostAllocateHere(c10::Allocator* self, size_t bytes) {
  c10::DataPtr data;
  {
    InAllocator inside;
    data = g_host_allocate(self, bytes);
  }
  void* context = data.get_context();
  if (!data.get() || !context || streamsan_torch_forked) return data;
  c10::DeleterFnPtr expected = nullptr, deleter = data.get_deleter();
  bool known = g_host_delete.compare_exchange_strong(expected, deleter) || expected == deleter;
  if (!known || !data.compare_exchange_deleter(deleter, DeleteHere)) {
    Count(&g_counts.unknown_host_blocks);
    return data;
  }
  g_pinned.Add(context, reinterpret_cast<size_t>(data.get()), bytes);
  g_arguments.WantForPinned();
  streamsan_host_pool_alloc(&g_host_pool, data.get(), bytes);
  Count(&g_counts.host_allocations);
  return data;
}

bool RecordEventHere(at::HostAllocator* self, void* pointer, void* context, c10::Stream stream) {
  bool known = g_record_event(self, pointer, context, stream);
  if (known && !streamsan_torch_forked) {
    void* handle = c10::cuda::CUDAStream(stream).stream();
    if (size_t base = g_pinned.Record(context, handle)) {
      streamsan_pool_record_use(&g_host_pool, reinterpret_cast<void*>(base), handle);
    }
  }
  return known;
}

bool RedirectHost() {
  at::HostAllocator* allocator = at::getHostAllocator(at::kCUDA);
  Redirection redirection(static_cast<c10::Allocator*>(allocator));
  bool good = redirection.Set(&c10::Allocator::allocate, HostAllocateHere, &g_host_allocate) &&
              redirection.Set(&at::HostAllocator::record_event, RecordEventHere, &g_record_event);
  if (good) redirection.Install();
  return good;
}

}  // namespace

#else

namespace {
bool RedirectHost() { return false; }
}  // namespace

#endif
#endif  // STREAMSAN_TORCH_HOST_ALLOCATOR_H_
