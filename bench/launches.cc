// Kernels with three ranges each over a thousand blocks on six streams, and the events that order
// them.

#include "bench/workload.h"

namespace ss::bench {
namespace {

constexpr size_t kBlocksAStream = 166;
constexpr size_t kKernelsAStep = 32;

}  // namespace

void Workload::SetUpLaunches() {
  for (size_t i = 0; i < kLastStream * kBlocksAStream; ++i) frozen_.push_back(Allocate(kCompute));
  for (StreamId stream = 1; stream <= kLastStream; ++stream) {
    ring_.push_back(next_event_++);
    if (stream != kCompute) Order(kCompute, stream);
    Record(stream, ring_.back());
  }
}

// In every step a stream takes over the blocks of the stream after it, whose last step it waits
// for.
void Workload::LaunchStep() {
  for (StreamId stream = 1; stream <= kLastStream; ++stream)
    Wait(stream, ring_[stream % kLastStream]);
  for (size_t i = 0; i < kKernelsAStep; ++i) {
    for (StreamId stream = 1; stream <= kLastStream; ++stream) {
      size_t set = (stream + step_) % kLastStream * kBlocksAStream;
      auto block = [&](size_t n) {
        return frozen_[set + (step_ * 7 + i * 3 + n) % kBlocksAStream];
      };
      Kernel(stream, block(0), block(1), block(2), i % 2 ? kRead | kWrite : kWrite);
    }
  }
  for (StreamId stream = 1; stream <= kLastStream; ++stream) Record(stream, ring_[stream - 1]);
}

}  // namespace ss::bench
