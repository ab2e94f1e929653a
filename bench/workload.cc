#include "bench/workload.h"

namespace ss::bench {
namespace {

constexpr size_t kLayers = 120;
constexpr size_t kLayersABucket = 8;
constexpr size_t kSideEvery = 4;

}  // namespace

Workload::Workload(const WorkloadOptions& options, Program* names)
    : options_(options), names_(names) {
  for (const char* name :
       {"gemm", "norm", "gelu", "softmax", "residual", "norm_bwd", "gemm_bwd", "adam"}) {
    kernel_names_.push_back(names_->strings.Intern(name));
  }
  stream_name_ = names_->strings.Intern("stream");
  thread_name_ = names_->strings.Intern("thread");
  for (HostId host : {kMain, kAutograd, kWatchdog}) BeginThread(host);
  for (StreamId id = 1; id <= kLastStream; ++id) {
    NewStream(id == kCompute ? StreamType::kLegacy : StreamType::kNonBlocking);
  }
  if (options_.launches_only) {
    SetUpLaunches();
  } else {
    Setup();
  }
}

const Op& Workload::Next(const Access** accesses) {
  if (next_ == ops_.size()) {
    ops_.clear();
    accesses_.clear();
    next_ = 0;
    site_ = 0;
    if (options_.launches_only) {
      LaunchStep();
    } else {
      Step();
    }
    ++step_;
  }
  const Op& op = ops_[next_++];
  *accesses = accesses_.data() + op.access_begin;
  return op;
}

void Workload::Setup() {
  layers_.resize(kLayers);
  for (Layer& layer : layers_) {
    layer.weight = Allocate(kCompute);
    layer.momentum = Allocate(kCompute);
    Kernel(kCompute, layer.momentum, layer.momentum, layer.weight);
    layer.side_done = next_event_++;
  }
  buckets_.resize(kLayers / kLayersABucket);
  for (Bucket& bucket : buckets_) {
    bucket.block = Allocate(kCompute);
    bucket.ready = next_event_++;
  }
  for (int i = 0; i < 2; ++i) {
    pinned_[i] = Allocate(0, MemoryKind::kPinned);
    batch_[i] = Allocate(kCompute);
    copied_[i] = next_event_++;
    used_[i] = next_event_++;
  }
  loss_ = Allocate(kCompute);
  SetUpTurnover();
}

void Workload::Step() {
  host_ = kMain;
  CopyIn();
  for (size_t layer = 0; layer < kLayers; ++layer) Forward(layer);
  CopyOut();
  host_ = kAutograd;
  for (size_t layer = kLayers; layer-- > 0;) Backward(layer);
  Record(kCompute, used_[step_ % 2]);
  host_ = kMain;
  for (Bucket& bucket : buckets_) {
    Wait(kCompute, bucket.reduced);
    Emit(OpKind::kEventDestroy, 0, bucket.reduced);
  }
  for (size_t layer = 0; layer < kLayers; ++layer) Optimize(layer);
  Turnover();
}

// The host fills a pinned buffer whose last copy is over; the copy waits until the batch buffer is
// free.
void Workload::CopyIn() {
  size_t i = step_ % 2;
  if (step_ >= 2) {
    Emit(OpKind::kEventSync, 0, copied_[i]);
    Wait(kIn, used_[i]);
  } else {
    Order(kCompute, kIn);
  }
  Emit(OpKind::kHostAccess, 0);
  Touch(pinned_[i], kWrite);
  Copy(kIn, pinned_[i], batch_[i]);
  Record(kIn, copied_[i]);
  Wait(kCompute, copied_[i]);
}

const Block& Workload::Input(size_t layer) const {
  return layer == 0 ? batch_[step_ % 2] : layers_[layer - 1].output;
}

Block Workload::Gradient(size_t layer) const {
  Block slice = buckets_[layer / kLayersABucket].block;
  slice.begin += layer % kLayersABucket * (kBlockBytes / kLayersABucket);
  slice.end = slice.begin + kBlockBytes / kLayersABucket;
  return slice;
}

void Workload::Forward(size_t index) {
  Layer& layer = layers_[index];
  const Block input = Input(index);
  Block scratch = Allocate(kCompute);
  layer.hidden = Allocate(kCompute);
  Kernel(kCompute, input, layer.weight, scratch);
  Kernel(kCompute, scratch, layer.weight, layer.hidden);
  Kernel(kCompute, scratch, input, layer.hidden, kRead | kWrite);
  Free(scratch);
  layer.output = Allocate(kCompute);
  Kernel(kCompute, layer.hidden, layer.weight, layer.output);
  Kernel(kCompute, input, layer.hidden, layer.output, kRead | kWrite);
  Kernel(kCompute, layer.weight, layer.hidden, layer.output, kRead | kWrite);
  if (index % kSideEvery == 0) SideStream(index);
}

void Workload::SideStream(size_t index) {
  Layer& layer = layers_[index];
  layer.side = Allocate(kCompute);
  Order(kCompute, kSide);
  Kernel(kSide, layer.output, layer.weight, layer.side);
  Emit(OpKind::kRecordStream, kSide, layer.side.id);
  Record(kSide, layer.side_done);
}

void Workload::Backward(size_t index) {
  Layer& layer = layers_[index];
  const Block input = Input(index), gradient = Gradient(index);
  Block delta = Allocate(kCompute);
  if (index % kSideEvery == 0) {
    Wait(kCompute, layer.side_done);
    Kernel(kCompute, layer.side, layer.output, delta);
    Free(layer.side);
  }
  Kernel(kCompute, layer.output, layer.weight, delta);
  Kernel(kCompute, layer.hidden, layer.weight, delta, kRead | kWrite);
  Kernel(kCompute, delta, layer.hidden, gradient);
  Kernel(kCompute, delta, input, gradient, kRead | kWrite);
  Free(layer.hidden);
  Free(layer.output);
  Kernel(kCompute, gradient, layer.weight, delta, kRead | kWrite);
  Free(delta);
  if (index % kLayersABucket == 0) {
    size_t bucket = index / kLayersABucket;
    Reduce(buckets_[bucket], bucket % 4 == 0);
  }
}

// `early`: the result of the reduction is freed at once and its owner waits before it allocates
// again.
void Workload::Reduce(Bucket& bucket, bool early) {
  Record(kCompute, bucket.ready);
  Wait(kComm, bucket.ready);
  Block result = early ? Allocate(kCompute) : bucket.block;
  if (early) {
    Record(kCompute, bucket.ready);
    Wait(kComm, bucket.ready);
  }
  Kernel(kComm, bucket.block, result, bucket.block, kRead | kWrite);
  if (early) Kernel(kComm, bucket.block, bucket.block, result);
  bucket.reduced = next_event_++;
  Record(kComm, bucket.reduced);
  if (early) {
    Free(result);
    Wait(kCompute, bucket.reduced);
  }
  HostId caller = host_;
  host_ = kWatchdog;
  Emit(OpKind::kEventQuery, 0, bucket.ready).flags = kNotReady * (bucket.reduced % 3 != 0);
  host_ = caller;
}

void Workload::Optimize(size_t index) {
  Layer& layer = layers_[index];
  Op& op = Emit(OpKind::kKernel, kCompute);
  op.name = kernel_names_.back();
  Touch(Gradient(index), kRead);
  Touch(layer.momentum, kRead | kWrite);
  Touch(layer.weight, kRead | kWrite);
}

// As Tensor.item(): an asynchronous copy to pageable memory and a synchronisation of its stream.
void Workload::CopyOut() {
  Kernel(kCompute, layers_.back().output, layers_.back().hidden, loss_);
  Order(kCompute, kOut);
  Block stack{0, uint64_t{1} << 46, (uint64_t{1} << 46) + 64, 0, MemoryKind::kPageable};
  Copy(kOut, loss_, stack);
  Emit(OpKind::kStreamSync, kOut);
  if (step_ % 50 == 49) Emit(OpKind::kDeviceSync, 0, 0);
}

}  // namespace ss::bench
