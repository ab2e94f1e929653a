// Incident 3: the initialising write that nobody ordered.
//
// Expert-parallel combine: the communication stream waits for compute, then the output is allocated
// on compute. In deterministic mode the allocator queues its NaN fill there, behind the point that
// was waited for, and the communication kernel writes the same memory. Two unordered writers: with
// a fast host and short communication the fill lands last.
#include "scenario.h"

namespace ss::incidents {
namespace {

class Combine {
 public:
  explicit Combine(const Options& options)
      : options_(options),
        gpu_(options.delay_ns, options.declare),
        allocator_(gpu_, options.fill),
        checker_(gpu_),
        compute_(gpu_.Stream("compute")),
        comm_(gpu_.Stream("comm")) {}
  void Step(uint32_t step);
  Checker::Counts Read() { return checker_.Read(); }

 private:
  float* Output();

  const Options& options_;
  Gpu gpu_;
  CachingAllocator allocator_;
  Checker checker_;
  CUstream compute_, comm_;
};

float* Combine::Output() {
  return allocator_.Allocate(options_.fix == "alloc-on-comm" ? comm_ : compute_, options_.elements,
                             "combined");
}

void Combine::Step(uint32_t step) {
  const bool faulty = options_.fault == "alloc-after-wait";
  const bool early = !faulty || options_.fix == "alloc-before-wait";
  float* expert = allocator_.Allocate(compute_, options_.elements, "expert");
  const auto base = static_cast<float>(1 + step % 512);
  LAUNCH(gpu_, compute_, "produce", expert, base, options_.elements);

  float* combined = early ? Output() : nullptr;
  gpu_.WaitStream(comm_, compute_);
  gpu_.Late(compute_);
  if (!early) combined = Output();
  if (options_.fix == "wait") gpu_.WaitStream(comm_, compute_);
  if (options_.fix == "host-sync") CU(cuStreamSynchronize(compute_));
  LAUNCH(gpu_, comm_, "exchange", combined, expert, 2.0f, 1.0f, options_.elements);
  allocator_.RecordStream(expert, comm_);
  allocator_.Free(expert);

  gpu_.WaitStream(compute_, comm_);
  checker_.Expect(compute_, combined, 2 * base + 1, 2, options_.elements);
  allocator_.RecordStream(combined, options_.fix == "alloc-on-comm" ? compute_ : comm_);
  allocator_.Free(combined);
}

Checker::Counts Run(const Options& options) {
  Combine combine(options);
  for (uint32_t step = 0; step < options.steps; ++step) combine.Step(step);
  return combine.Read();
}

}  // namespace
}  // namespace ss::incidents

int main(int argc, char** argv) {
  using namespace ss::incidents;
  return Main({"ep_combine_fill",
               "expert-parallel combine: the output's NaN fill is queued after the wait that "
               "should cover it",
               {"alloc-after-wait"},
               {"alloc-before-wait", "alloc-on-comm", "wait", "host-sync"},
               {},
               true,
               Run},
              argc, argv);
}
