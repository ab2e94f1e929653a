// What the incident programs share: command line, repetition over seeds, the check of the data.
//
//   PROGRAM [--fault=NAME] [--fix=NAME] [--steps N] [--elements N] [--fill=on|off] [--delay-ms N]
//   [--declare=on|off]
//   [--check]
//           [--seeds A..B [--policy eager|lazy|random|pct]]   (virtual GPU: one run a seed, one
//           line in all)
//
// Exit code 0, also for wrong data; with --check 1 for wrong data; 2 for wrong usage and driver
// errors.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "caching_allocator.h"
#include "gpu.h"

namespace ss::incidents {

struct Options {
  std::string fault;
  std::string fix = "none";
  std::set<std::string> omit;  // registrations left out besides the fault's
  uint32_t steps = 4;
  uint32_t elements = 256;  // floats in a tensor
  uint64_t delay_ns = 0;    // real GPU: how late the late party is
  bool fill = true;
  bool declare = true;  // say what the kernels read and write (streamsan_kernel_access)
  bool check = false;
};

// Counts wrong values in results, on the device and in stream order.
class Checker {
 public:
  explicit Checker(Gpu& gpu) : gpu_(gpu), counts_(gpu.Buffer<uint32_t>(2, "wrong_counts")) {}
  // values[i] must be base + slope * (i % 7).
  void Expect(CUstream stream, const float* values, float base, float slope, uint32_t n) {
    LAUNCH(gpu_, stream, "check", counts_, values, base, slope, n);
  }
  struct Counts {
    uint32_t nans = 0;
    uint32_t stale = 0;
    bool right() const { return nans == 0 && stale == 0; }
  };
  Counts Read();  // synchronises the context

 private:
  Gpu& gpu_;
  uint32_t* counts_;
};

struct Scenario {
  const char* name;
  const char* summary;
  std::vector<std::string> faults;  // the first is what the incident was; "none" is always there
  std::vector<std::string> fixes;   // "none" is always there
  std::vector<std::string> registrations;  // what --omit takes
  bool fill;                               // default of --fill
  Checker::Counts (*run)(const Options& options);
};

int Main(const Scenario& scenario, int argc, char** argv);

}  // namespace ss::incidents
