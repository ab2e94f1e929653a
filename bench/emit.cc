#include "bench/workload.h"

namespace ss::bench {

// A call stack tells the position in the code of the step, and the loops share theirs.
Op& Workload::Emit(OpKind kind, StreamId stream, uint32_t object) {
  Op& op = ops_.emplace_back();
  op.kind = kind;
  op.host = host_;
  op.stream = stream;
  op.object = object;
  op.access_begin = static_cast<uint32_t>(accesses_.size());
  op.stack = 1 + site_++ % 509;
  op.id = next_op_++;
  return op;
}

void Workload::Touch(const Block& block, uint8_t mode) {
  accesses_.push_back({block.begin, block.end, mode, block.kind});
  ++ops_.back().access_count;
}

void Workload::Kernel(StreamId stream, const Block& a, const Block& b, const Block& result,
                      uint8_t result_mode) {
  Op& op = Emit(OpKind::kKernel, stream);
  op.name = kernel_names_[site_ % kernel_names_.size()];
  Touch(a, kRead);
  Touch(b, kRead);
  Touch(result, result_mode);
}

void Workload::Copy(StreamId stream, const Block& from, const Block& to) {
  Emit(OpKind::kCopy, stream);
  Touch(from, kRead);
  Touch(to, kWrite);
}

Block Workload::Allocate(StreamId owner, MemoryKind kind) {
  Block block = allocator_.Take(owner, kind);
  if (allocator_.StartsSegment(block)) {
    EmitAlloc(
        {allocator_.NewId(), block.begin, block.begin + kSegmentBytes, 0, MemoryKind::kDevice});
  }
  EmitAlloc(block);
  return block;
}

void Workload::EmitAlloc(const Block& block) {
  Emit(OpKind::kAlloc, block.owner, block.id);
  Touch(block, 0);
}

void Workload::Free(const Block& block) {
  Emit(OpKind::kFree, 0, block.id);
  allocator_.Give(block);
}

void Workload::Record(StreamId stream, EventId event) { Emit(OpKind::kEventRecord, stream, event); }

void Workload::Wait(StreamId stream, EventId event) {
  if (!options_.omit_waits) Emit(OpKind::kStreamWaitEvent, stream, event);
}

void Workload::Order(StreamId from, StreamId to) {
  EventId event = next_event_++;
  Record(from, event);
  Wait(to, event);
  Emit(OpKind::kEventDestroy, 0, event);
}

StreamId Workload::NewStream(StreamType type) {
  StreamId stream = next_stream_++;
  Op& op = Emit(OpKind::kStreamCreate, stream);
  op.name = stream_name_;
  op.aux = static_cast<uint32_t>(type);
  op.value = uint64_t{1} << 16;  // context 1 of device 0
  return stream;
}

void Workload::DestroyStream(StreamId stream) {
  Emit(OpKind::kStreamDestroy, stream);
  allocator_.Forget(stream);
}

void Workload::BeginThread(HostId host) {
  HostId caller = host_;
  host_ = host;
  Emit(OpKind::kHostBegin, 0).name = thread_name_;
  host_ = caller;
}

}  // namespace ss::bench
