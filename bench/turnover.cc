// What comes and goes beside the steps.

#include "bench/workload.h"

namespace ss::bench {
namespace {

constexpr size_t kFrozen = 16;
constexpr int kTemporaryKernels = 8;

}  // namespace

void Workload::SetUpTurnover() {
  for (size_t i = 0; i < kFrozen; ++i) {
    frozen_.push_back(Allocate(kCompute));
    Kernel(kCompute, layers_[i].weight, layers_[i].momentum, frozen_.back());
  }
}

void Workload::Turnover() {
  if (step_ % 2 == 0) PoolMemory();
  if (step_ % 4 == 0)
    TemporaryStream(step_ % 8 == 0 ? StreamType::kBlocking : StreamType::kNonBlocking);
  if (step_ % 8 == 2) TemporaryThread();
  if (step_ % 32 == 5) DeviceMemory();
}

// Blocks that nobody writes collect readers: those of streams that are gone must not stay for ever.
void Workload::TemporaryStream(StreamType type) {
  StreamId stream = NewStream(type);
  Order(kCompute, stream);
  Block block = Allocate(stream);
  for (int i = 0; i < kTemporaryKernels; ++i) {
    Kernel(stream, frozen_[(step_ / 4 + i) % kFrozen], layers_[i].weight, block);
  }
  Free(block);
  Order(stream, kCompute);
  DestroyStream(stream);
}

// A thread that lives for one request: its own stream or its default one, synchronised by it alone.
void Workload::TemporaryThread() {
  HostId host = static_cast<HostId>(kFirstTemporary + threads_made_++ % 60000);
  BeginThread(host);
  host_ = host;
  StreamId stream = NewStream(step_ % 16 == 2 ? StreamType::kPerThread : StreamType::kNonBlocking);
  Order(kCompute, stream);
  Block block = Allocate(stream);
  for (int i = 0; i < kTemporaryKernels; ++i) Kernel(stream, frozen_[i], layers_[i].weight, block);
  Free(block);
  Emit(OpKind::kStreamSync, stream);
  Order(stream, kCompute);
  DestroyStream(stream);
  Emit(OpKind::kHostEnd, 0);
  host_ = kMain;
}

void Workload::DeviceMemory() {
  Block block = Allocate(0, MemoryKind::kDevice);
  Emit(OpKind::kMemset, kCompute);
  Touch(block, kWrite);
  Kernel(kCompute, block, block, loss_);
  Emit(OpKind::kStreamSync, kCompute);
  Free(block);
}

void Workload::PoolMemory() {
  Order(kCompute, kSide);
  Block block{allocator_.NewId(), uint64_t{1} << 45, (uint64_t{1} << 45) + kBlockBytes, kSide,
              MemoryKind::kPool};
  Op& alloc = Emit(OpKind::kAllocAsync, kSide, block.id);
  alloc.flags = kReuse;
  Touch(block, 0);
  Kernel(kSide, layers_[0].weight, layers_[1].weight, block);
  Emit(OpKind::kFreeAsync, kSide, block.id);
  Order(kSide, kCompute);
}

}  // namespace ss::bench
