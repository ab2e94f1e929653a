// Incident 2: the reduction waits for a stream that is not the producer.
//
// ZeRO-3 style gradient reduction. Each gradient is written by a backward kernel on the current
// stream, then a hook copies it into a bucket on `reduce`; a full bucket is reduced and scattered
// on `nccl`, and the optimizer adds the result to the weights on the default stream. The hook waits
// for the default stream where it should wait for the current one: the copy may run before the
// gradient is there, and the damage shows one step later, in the weights. Relatives: gradients of
// one bucket from two streams with a wait for one of them, and a bucket that is filled again before
// its reduction has read it.
#include <algorithm>

#include "scenario.h"

namespace ss::incidents {
namespace {

constexpr int kParameters = 6;
constexpr int kPerBucket = 2;
constexpr int kBuckets = 2;
constexpr int kGroupStart = 2;  // a second parameter group begins here

class Zero3 {
 public:
  explicit Zero3(const Options& options);
  void Step(uint32_t step);
  Checker::Counts Read();

 private:
  struct Bucket {
    float* values;
    uint32_t flush;  // which flush used it last
  };

  CUstream BackwardStream(int parameter) const;
  void Backward(int parameter, int step);
  void Hook(int parameter, float* gradient, CUstream producer);
  void WaitForBucket(const Bucket& bucket);
  void WaitForProducer(int parameter, CUstream producer);
  void Flush(int last_parameter);
  void Optimize();

  const Options& options_;
  Gpu gpu_;
  CachingAllocator allocator_;
  Checker checker_;
  CUstream default_, backward_[2], reduce_, nccl_;
  Bucket buckets_[kBuckets]{};
  int current_bucket_ = 0;
  uint32_t flushes_ = 0;
  CUevent reduced_[kBuckets]{};       // by flush number modulo 2: that flush has read its bucket
  float* partitions_[kParameters]{};  // reduced gradients
  float* weights_[kParameters]{};
};

Zero3::Zero3(const Options& options)
    : options_(options),
      gpu_(options.delay_ns, options.declare),
      allocator_(gpu_, options.fill),
      checker_(gpu_),
      default_(gpu_.DefaultStream("default")),
      backward_{gpu_.Stream("backward"), gpu_.Stream("backward2")},
      reduce_(gpu_.Stream("reduce")),
      nccl_(gpu_.Stream("nccl")) {
  for (Bucket& bucket : buckets_) {
    bucket.values = gpu_.Buffer<float>(kPerBucket * options.elements, "bucket");
  }
  for (CUevent& event : reduced_) event = gpu_.Event();
  for (int i = 0; i < kParameters; ++i) {
    partitions_[i] = gpu_.Buffer<float>(options.elements, "partition");
    weights_[i] = gpu_.Buffer<float>(options.elements, "weights");
  }
}

CUstream Zero3::BackwardStream(int parameter) const {
  if (options_.fix == "backward-on-default") return default_;
  return options_.fault == "several-producers" ? backward_[parameter % 2] : backward_[0];
}

// The gradient of parameter p in step s is (p + 1) (s + 1) + i%7.
void Zero3::Backward(int parameter, int step) {
  const CUstream stream = BackwardStream(parameter);
  float* gradient = allocator_.Allocate(stream, options_.elements, "gradient");
  gpu_.Late(stream);
  LAUNCH(gpu_, stream, "produce", gradient, static_cast<float>((parameter + 1) * (step + 1)),
         options_.elements);
  Hook(parameter, gradient, stream);
}

void Zero3::WaitForProducer(int parameter, CUstream producer) {
  const bool last_of_bucket = parameter % kPerBucket == kPerBucket - 1;
  if (options_.fix == "host-sync") {
    CU(cuStreamSynchronize(producer));
  } else if (options_.fault == "wrong-producer" && options_.fix != "wait") {
    gpu_.WaitStream(reduce_, default_);
  } else if (options_.fault != "several-producers" || options_.fix == "wait" || last_of_bucket) {
    gpu_.WaitStream(reduce_, producer);
  }
}

// Two buckets that take turns: the flush before the last one has to be over. When the turn is reset
// to the first bucket in mid-step, the same bucket comes twice in a row, and the last flush still
// reads it.
void Zero3::WaitForBucket(const Bucket& bucket) {
  const bool fixed = options_.fault == "index-reset" && options_.fix == "wait";
  const uint32_t flush = fixed ? bucket.flush : flushes_;
  CU(cuStreamWaitEvent(reduce_, reduced_[flush % kBuckets], 0));
  if (options_.fault == "index-reset" && options_.fix == "host-sync")
    CU(cuStreamSynchronize(nccl_));
}

void Zero3::Hook(int parameter, float* gradient, CUstream producer) {
  const int slot = parameter % kPerBucket;
  if (parameter == kGroupStart && options_.fault == "index-reset") current_bucket_ = 0;
  const Bucket& bucket = buckets_[current_bucket_];
  if (slot == 0) WaitForBucket(bucket);
  WaitForProducer(parameter, producer);
  const size_t bytes = options_.elements * sizeof(float);
  CU(cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(bucket.values + slot * options_.elements),
                       reinterpret_cast<CUdeviceptr>(gradient), bytes, reduce_));
  if (!options_.omit.contains("gradient")) allocator_.RecordStream(gradient, reduce_);
  allocator_.Free(gradient);
  if (slot == kPerBucket - 1) Flush(parameter);
}

// Reduces the bucket on the communication stream and turns to the other one.
void Zero3::Flush(int last_parameter) {
  Bucket& bucket = buckets_[current_bucket_];
  gpu_.WaitStream(nccl_, reduce_);
  gpu_.Late(nccl_);
  for (int slot = 0; slot < kPerBucket; ++slot) {
    const float* part = bucket.values + slot * options_.elements;
    LAUNCH(gpu_, nccl_, "exchange", partitions_[last_parameter - kPerBucket + 1 + slot], part, 1.0f,
           0.0f, options_.elements);
  }
  CU(cuEventRecord(reduced_[flushes_ % kBuckets], nccl_));
  bucket.flush = flushes_++;
  current_bucket_ = 1 - current_bucket_;
}

void Zero3::Optimize() {
  gpu_.WaitStream(default_, nccl_);
  for (int i = 0; i < kParameters; ++i) {
    LAUNCH(gpu_, default_, "accumulate", weights_[i], partitions_[i], options_.elements);
  }
  // The next step's forward and communication follow the optimizer.
  for (CUstream stream : backward_) gpu_.WaitStream(stream, default_);
  gpu_.WaitStream(nccl_, default_);
}

void Zero3::Step(uint32_t step) {
  for (int i = 0; i < kParameters; ++i) Backward(i, static_cast<int>(step));
  Optimize();
}

Checker::Counts Zero3::Read() {
  const auto steps = static_cast<float>(options_.steps);
  for (int i = 0; i < kParameters; ++i) {
    const float base = static_cast<float>(i + 1) * steps * (steps + 1) / 2;
    checker_.Expect(default_, weights_[i], base, steps, options_.elements);
  }
  return checker_.Read();
}

Checker::Counts Run(const Options& options) {
  Zero3 zero3(options);
  for (uint32_t step = 0; step < options.steps; ++step) zero3.Step(step);
  return zero3.Read();
}

}  // namespace
}  // namespace ss::incidents

int main(int argc, char** argv) {
  using namespace ss::incidents;
  return Main({"zero3_reduce",
               "ZeRO-3 gradient reduction: the copy into the bucket waits for the wrong stream",
               {"wrong-producer", "several-producers", "index-reset"},
               {"wait", "host-sync", "backward-on-default"},
               {"gradient"},
               false,
               Run},
              argc, argv);
}
