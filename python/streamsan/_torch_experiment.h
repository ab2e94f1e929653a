// `--allocator=hold|poison`: an experiment on a finding, which changes what the allocator does.
//
// hold: a freed block is not handed out again before its device has been idle; a lifetime hazard
// cannot strike. poison: besides, a block that no stream was recorded for is filled with NaN (all
// bits set) at its free, in its owner's order, as its next tenant could: a hazard strikes if its
// use is still to come. To the trace the filling is that tenant.
#ifndef STREAMSAN_TORCH_EXPERIMENT_H_
#define STREAMSAN_TORCH_EXPERIMENT_H_

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <stddef.h>

#include <mutex>
#include <unordered_map>
#include <vector>

#include "_torch_operators.h"

namespace {

enum class Experiment : uint8_t { kNone, kHold, kPoison };
Experiment g_experiment = Experiment::kNone;

struct HeldBlock {
  const void* pool = nullptr;
  size_t base = 0, bytes = 0;
  void* owner = nullptr;
  int device = 0;
  bool poisoned = false;
};

struct Held {
  std::mutex lock;
  std::unordered_map<size_t, HeldBlock> live;  // given out
  std::vector<HeldBlock> freed;                // by the program, not yet by us
  size_t bytes = 0;                            // of `freed`
  std::unordered_map<size_t, bool> told;       // freed by us now: the trace has their free; true =
                                               // and a poisoned tenant
};
Held& g_held = *new Held;  // never destroyed: frees still come while the process ends
c10::DeleterFnPtr g_raw_delete;

void TellFree(const void* pool, size_t base);
bool TakeRecorded(size_t base);

// True: the free of this block is not the program's.
bool SettleHeld(size_t base, const void* pool) {
  std::unordered_map<size_t, bool>::node_type told;
  {
    std::lock_guard<std::mutex> guard(g_held.lock);
    told = g_held.told.extract(base);
  }
  if (told.empty()) return false;
  if (told.mapped()) streamsan_pool_free(pool, reinterpret_cast<void*>(base));
  return true;
}

// Held at most: a quarter of the device, so that the rest is the program's.
size_t HeldLimit() {
  static const size_t limit = [] {
    size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? total / 4 : size_t{1} << 30;
  }();
  return limit;
}

// What the program freed goes back, once the devices are idle.
void ReleaseHeld() {
  std::vector<HeldBlock> blocks;
  {
    std::lock_guard<std::mutex> guard(g_held.lock);
    blocks.swap(g_held.freed);
    g_held.bytes = 0;
    for (const HeldBlock& block : blocks) g_held.told[block.base] = block.poisoned;
  }
  int device = -1;
  for (const HeldBlock& block : blocks) {
    if (block.device == device) continue;
    device = block.device;
    c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    cudaDeviceSynchronize();
  }
  for (const HeldBlock& block : blocks) g_raw_delete(reinterpret_cast<void*>(block.base));
}

void Poison(HeldBlock& block) {
  c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(block.device));
  void* base = reinterpret_cast<void*>(block.base);
  streamsan_pool_alloc(block.pool, base, block.bytes, block.owner);
  streamsan_fill(block.owner, base, block.bytes);
  cudaMemsetAsync(base, 0xff, block.bytes, static_cast<cudaStream_t>(block.owner));
  block.poisoned = true;
}

// A graph's memory is left alone: its replays use it again.
bool Captures() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

void HoldDelete(void* pointer) {
  HeldBlock block;
  size_t base = reinterpret_cast<size_t>(pointer);
  {
    std::lock_guard<std::mutex> guard(g_held.lock);
    if (auto live = g_held.live.extract(base)) block = live.mapped();
  }
  if (!block.base || streamsan_torch_forked || Captures()) return g_raw_delete(pointer);
  TellFree(block.pool, base);
  bool recorded = TakeRecorded(base);
  if (g_experiment == Experiment::kPoison && !recorded) Poison(block);
  bool full = false;
  {
    std::lock_guard<std::mutex> guard(g_held.lock);
    g_held.freed.push_back(block);
    g_held.bytes += block.bytes;
    full = g_held.bytes > HeldLimit();
  }
  if (full) ReleaseHeld();
}

void NoteLive(const HeldBlock& block) {
  std::lock_guard<std::mutex> guard(g_held.lock);
  g_held.live[block.base] = block;
}

template <class Allocate>
c10::DataPtr AllocateHeld(c10::Allocator* self, size_t bytes, Allocate allocate) {
  c10::DataPtr data;
  try {
    data = allocate(self, bytes);
  } catch (const c10::OutOfMemoryError&) {
    ReleaseHeld();
    data = allocate(self, bytes);
  }
  g_raw_delete = self->raw_deleter();
  bool held = data.get() && data.compare_exchange_deleter(g_raw_delete, HoldDelete);
  (void)held;  // others free at once, as always
  return data;
}

}  // namespace
#endif  // STREAMSAN_TORCH_EXPERIMENT_H_
