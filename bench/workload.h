// Operations shaped like a training step: the same for every engine that is measured.
//
// A step: copy the batch in; per layer a forward pass of six kernels with three ranges each and
// three allocations; a side stream every fourth layer; the backward pass with gradient buckets that
// a communication stream reduces; the optimizer; the loss copied out and waited for. Beside that,
// and this is what memory must not grow with: streams, events, host threads and blocks that come
// and go. The program is free of hazards by construction (every use on another stream waits for an
// event), because a finding costs far more than an operation and a checked program has few.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/caching_allocator.h"
#include "src/program/op.h"

namespace ss::bench {

struct WorkloadOptions {
  // Only kernels with three ranges each and the events that order them: the launch rate alone.
  bool launches_only = false;
  // Leaves out every wait for an event: the program then has hazards. Shows that an engine looks.
  bool omit_waits = false;
};

class Workload {
 public:
  // `names` receives the names of kernels, streams and host threads.
  Workload(const WorkloadOptions& options, Program* names);

  // One operation more. `accesses` and the operation stay valid until the next call.
  const Op& Next(const Access** accesses);

 private:
  struct Layer {
    Block weight, momentum, hidden, output, side;
    EventId side_done = 0;
  };
  struct Bucket {
    Block block;
    EventId ready = 0, reduced = 0;
  };

  // workload.cc
  void Setup();
  void Step();
  void CopyIn();
  void Forward(size_t layer);
  void SideStream(size_t layer);
  void Backward(size_t layer);
  void Reduce(Bucket& bucket, bool early);
  void Optimize(size_t layer);
  void CopyOut();
  const Block& Input(size_t layer) const;
  Block Gradient(size_t layer) const;

  // turnover.cc
  void SetUpTurnover();
  void Turnover();
  void TemporaryStream(StreamType type);
  void TemporaryThread();
  void DeviceMemory();
  void PoolMemory();

  // launches.cc
  void SetUpLaunches();
  void LaunchStep();

  // emit.cc
  Op& Emit(OpKind kind, StreamId stream, uint32_t object = 0);
  void Touch(const Block& block, uint8_t mode);
  void Kernel(StreamId stream, const Block& a, const Block& b, const Block& result,
              uint8_t result_mode = kWrite);
  void Copy(StreamId stream, const Block& from, const Block& to);
  Block Allocate(StreamId owner, MemoryKind kind = MemoryKind::kCaching);
  void Free(const Block& block);
  void EmitAlloc(const Block& block);
  void Record(StreamId stream, EventId event);
  void Wait(StreamId stream, EventId event);
  void Order(StreamId from, StreamId to);  // with an event of its own
  StreamId NewStream(StreamType type);
  void DestroyStream(StreamId stream);
  void BeginThread(HostId host);

  WorkloadOptions options_;
  Program* names_;
  std::vector<Op> ops_;  // of the present step
  std::vector<Access> accesses_;
  size_t next_ = 0;
  uint64_t step_ = 0;
  OpId next_op_ = 1;
  HostId host_ = 0;    // whose calls are emitted
  uint32_t site_ = 0;  // call stack: position in the step's code
  EventId next_event_ = 1;
  StreamId next_stream_ = 1;
  uint32_t threads_made_ = 0;
  CachingAllocator allocator_;
  std::vector<StringId> kernel_names_;
  StringId stream_name_ = 0, thread_name_ = 0;

  std::vector<Layer> layers_;
  std::vector<Bucket> buckets_;
  std::vector<Block> frozen_;  // read by many, never written again
  Block pinned_[2], batch_[2], loss_;
  EventId copied_[2] = {}, used_[2] = {};
  std::vector<EventId> ring_;  // launches only: one a stream
};

// Streams that live as long as the program.
constexpr StreamId kCompute = 1, kSide = 2, kComm = 3, kIn = 4, kOut = 5, kSpare = 6;
constexpr StreamId kLastStream = kSpare;
// Host threads that do.
constexpr HostId kMain = 0, kAutograd = 1, kWatchdog = 2, kFirstTemporary = 3;

}  // namespace ss::bench
