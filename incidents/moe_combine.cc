// Incident 1: a block goes back to its owner stream's pool while another stream still reads it.
//
// Asynchronous expert-parallel dispatch and combine with two micro-batches in flight. Events order
// the execution correctly; they tell the caching allocator nothing. combine's forward output
// belongs to `comm` and is saved for unpermute's backward, which reads it on `compute`. Backward
// visits U1, U0, C1, C0; C1 waits only for U1's event. The saved tensor of U0 is dropped as soon as
// U0's kernel is queued; C1 takes its block at once, and fills it on `comm` while U0 still reads.
#include <cstddef>

#include "scenario.h"

namespace ss::incidents {
namespace {

constexpr int kMicroBatches = 2;
constexpr float kCombineShift = 1;

// What a step computes, for micro-batch m: x = base + i%7; dispatched = x; expert = 2x; combined =
// 2x + 1.
float Base(uint32_t step, int m) {
  return static_cast<float>(1 + step % 512) + 0.25f * static_cast<float>(m);
}

class Moe {
 public:
  explicit Moe(const Options& options);
  void Step(uint32_t step);
  Checker::Counts Read() { return checker_.Read(); }

 private:
  struct MicroBatch {
    float *x, *dispatched, *expert, *combined;
    float *gradient, *combine_gradient;
    CUevent dispatch_done, expert_done, combine_done, unpermute_back, combine_back;
    float *probability_gradient, *input_gradient;  // results, outside the caching allocator
  };

  void Dispatch(MicroBatch& b, uint32_t step, int m);
  void Expert(MicroBatch& b);
  void Combine(MicroBatch& b);
  void UnpermuteBackward(MicroBatch& b, uint32_t step, int m);
  void CombineBackward(MicroBatch& b);
  void ExpertBackward(MicroBatch& b, uint32_t step, int m);
  float* Tensor(CUstream owner, const char* name) {
    return allocator_.Allocate(owner, options_.elements, name);
  }
  // Tells the allocator that `user` uses the tensor, unless this registration is left out.
  void Register(const char* registration, float* tensor, CUstream user);
  void Drop(float* saved);
  void Signal(CUevent event, CUstream producer) { CU(cuEventRecord(event, producer)); }
  void Await(CUstream consumer, CUevent event) { CU(cuStreamWaitEvent(consumer, event, 0)); }

  const Options& options_;
  Gpu gpu_;
  CachingAllocator allocator_;
  Checker checker_;
  CUstream compute_, comm_;
  MicroBatch batches_[kMicroBatches]{};
  std::vector<float*> held_;
};

Moe::Moe(const Options& options)
    : options_(options),
      gpu_(options.delay_ns, options.declare),
      allocator_(gpu_, options.fill),
      checker_(gpu_),
      compute_(gpu_.Stream("compute")),
      comm_(gpu_.Stream("comm")) {
  for (MicroBatch& b : batches_) {
    b.dispatch_done = gpu_.Event();
    b.expert_done = gpu_.Event();
    b.combine_done = gpu_.Event();
    b.unpermute_back = gpu_.Event();
    b.combine_back = gpu_.Event();
    b.probability_gradient = gpu_.Buffer<float>(options.elements, "probability_gradient");
    b.input_gradient = gpu_.Buffer<float>(options.elements, "input_gradient");
  }
}

void Moe::Register(const char* registration, float* tensor, CUstream user) {
  if (!options_.omit.contains(registration)) allocator_.RecordStream(tensor, user);
}

void Moe::Dispatch(MicroBatch& b, uint32_t step, int m) {
  b.x = Tensor(compute_, "x");
  LAUNCH(gpu_, compute_, "produce", b.x, Base(step, m), options_.elements);
  gpu_.WaitStream(comm_, compute_);
  b.dispatched = Tensor(comm_, "dispatched");
  gpu_.Late(comm_);
  LAUNCH(gpu_, comm_, "exchange", b.dispatched, b.x, 1.0f, 0.0f, options_.elements);
  Signal(b.dispatch_done, comm_);
  Register("dispatch-input", b.x, comm_);
  Register("dispatch-output", b.dispatched, compute_);
  allocator_.Free(b.x);
}

void Moe::Expert(MicroBatch& b) {
  Await(compute_, b.dispatch_done);
  b.expert = Tensor(compute_, "expert");
  LAUNCH(gpu_, compute_, "transform", b.expert, b.dispatched, 2.0f, 0.0f, options_.elements);
  Signal(b.expert_done, compute_);
}

void Moe::Combine(MicroBatch& b) {
  Await(comm_, b.expert_done);
  b.combined = Tensor(comm_, "combined");
  LAUNCH(gpu_, comm_, "exchange", b.combined, b.expert, 1.0f, kCombineShift, options_.elements);
  Signal(b.combine_done, comm_);
  Register("combine-input", b.expert, comm_);
  // What the incident's code did instead of the registration that is needed: the owner is dropped
  // silently.
  allocator_.RecordStream(b.combined, comm_);
  Register("combine-output", b.combined, compute_);
  allocator_.Free(b.expert);
}

// Autograd drops its last reference as soon as the kernel is queued.
void Moe::Drop(float* saved) {
  if (options_.fix == "hold") {
    held_.push_back(saved);
  } else {
    allocator_.Free(saved);
  }
}

void Moe::UnpermuteBackward(MicroBatch& b, uint32_t, int m) {
  b.gradient = Tensor(compute_, "gradient");
  gpu_.Late(compute_);
  LAUNCH(gpu_, compute_, "unpermute_backward", b.probability_gradient, b.gradient, b.combined,
         static_cast<float>(2 + m), options_.elements);
  Signal(b.unpermute_back, compute_);
  Drop(b.combined);
}

void Moe::CombineBackward(MicroBatch& b) {
  Await(comm_, b.unpermute_back);
  if (options_.fix == "wait") gpu_.WaitStream(comm_, compute_);
  if (options_.fix == "host-sync") CU(cuStreamSynchronize(compute_));
  b.combine_gradient = Tensor(comm_, "combine_gradient");
  // As tried in the investigation: too late for the fill, which is queued by now.
  if (options_.fault == "wait-after-alloc") gpu_.WaitStream(comm_, compute_);
  gpu_.Late(comm_);
  LAUNCH(gpu_, comm_, "exchange", b.combine_gradient, b.gradient, 1.0f, 2.0f, options_.elements);
  Signal(b.combine_back, comm_);
  Register("gradient-input", b.gradient, comm_);
  Register("gradient-output", b.combine_gradient, compute_);
  allocator_.Free(b.gradient);
}

void Moe::ExpertBackward(MicroBatch& b, uint32_t step, int m) {
  Await(compute_, b.combine_back);
  // Two tensors of the size that CombineBackward has just given back.
  float* hidden = Tensor(compute_, "hidden_gradient");
  float* input = Tensor(compute_, "expert_gradient");
  LAUNCH(gpu_, compute_, "expert_backward", hidden, input, b.combine_gradient, b.dispatched,
         options_.elements);
  LAUNCH(gpu_, compute_, "transform", b.input_gradient, input, 1.0f, 0.0f, options_.elements);
  allocator_.Free(hidden);
  allocator_.Free(input);
  allocator_.Free(b.dispatched);
  allocator_.Free(b.combine_gradient);
  const auto scale = static_cast<float>(2 + m);
  checker_.Expect(compute_, b.probability_gradient, scale * (2 * Base(step, m) + kCombineShift),
                  2 * scale, options_.elements);
  checker_.Expect(compute_, b.input_gradient, 3 * (scale + 2) + Base(step, m), 4,
                  options_.elements);
}

void Moe::Step(uint32_t step) {
  for (int m = 0; m < kMicroBatches; ++m) Dispatch(batches_[m], step, m);
  for (MicroBatch& b : batches_) Expert(b);
  for (MicroBatch& b : batches_) Combine(b);
  for (MicroBatch& b : batches_) Await(compute_, b.combine_done);
  for (int m = kMicroBatches - 1; m >= 0; --m) UnpermuteBackward(batches_[m], step, m);
  for (int m = kMicroBatches - 1; m >= 0; --m) CombineBackward(batches_[m]);
  for (int m = kMicroBatches - 1; m >= 0; --m) ExpertBackward(batches_[m], step, m);
  if (!held_.empty()) {  // backward is done when the optimizer has run: here the step's end
    CU(cuStreamSynchronize(compute_));
    for (float* tensor : held_) allocator_.Free(tensor);
    held_.clear();
  }
}

Checker::Counts Run(const Options& given) {
  Options options = given;
  if (options.fault == "missing-compute-record" || options.fault == "wait-after-alloc") {
    options.omit.insert("combine-output");
  }
  if (options.fault == "missing-input-record") options.omit.insert("dispatch-input");
  if (options.fault == "missing-gradient-record") options.omit.insert("gradient-input");
  if (options.fix == "record-compute") options.omit.erase("combine-output");
  if (options.fix == "record-comm") {
    options.omit.erase("dispatch-input");
    options.omit.erase("gradient-input");
  }
  Moe moe(options);
  for (uint32_t step = 0; step < options.steps; ++step) moe.Step(step);
  return moe.Read();
}

}  // namespace
}  // namespace ss::incidents

int main(int argc, char** argv) {
  using namespace ss::incidents;
  return Main(
      {"moe_combine",
       "asynchronous expert-parallel combine: a saved tensor's block returns to its pool too early",
       {"missing-compute-record", "wait-after-alloc", "missing-input-record",
        "missing-gradient-record"},
       {"record-compute", "record-comm", "wait", "host-sync", "hold"},
       {"dispatch-input", "dispatch-output", "combine-input", "combine-output", "gradient-input",
        "gradient-output"},
       true,
       Run},
      argc, argv);
}
