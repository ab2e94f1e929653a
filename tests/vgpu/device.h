// What the tests of the virtual GPU share: a fresh device for each schedule, kernels that leave
// their mark, and the question which orders can be seen.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "vgpu/control.h"
#include "vgpu/kernel.h"

// Declared by cuda.h only in per-thread mode.
extern "C" CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                                unsigned, unsigned, unsigned, CUstream, void**,
                                                void**);

#define ASSERT_CU(call) ASSERT_EQ(CUDA_SUCCESS, (call))
#define EXPECT_CU(call) EXPECT_EQ(CUDA_SUCCESS, (call))

namespace ss::vgpu_test {

// In what order marks were left; one schedule.
using Log = std::vector<uint32_t>;

// Device 0 with a current context, the test kernels loaded, and a log in device memory.
class Device {
 public:
  Device(const char* policy, uint64_t seed);
  ~Device();

  CUstream Stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent Event();
  CUfunction Function(const char* name);
  CUdeviceptr Memory(size_t bytes);

  // A kernel of one block that appends `id` to the log.
  void Mark(CUstream stream, uint32_t id, bool per_thread = false);
  // The host appends `id`, in the middle of its program.
  void HostMark(uint32_t id);
  // target[0..n) = value, in four blocks; and sums of four blocks over source[0..n).
  void Store(CUstream stream, CUdeviceptr target, uint32_t value, uint32_t n);
  void Sum(CUstream stream, CUdeviceptr source, uint32_t n, CUdeviceptr result);
  void Record(CUevent event, CUstream stream) { EXPECT_CU(cuEventRecord(event, stream)); }
  void Wait(CUstream stream, CUevent event) { EXPECT_CU(cuStreamWaitEvent(stream, event, 0)); }

  Log ReadLog() const;
  CUcontext context() const { return context_; }

 private:
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUdeviceptr log_ = 0;
};

// Device memory is host memory here, so that a test can look without asking the driver.
template <typename T>
T* View(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

// The orders that `program` shows under eager, lazy, and `seeds` seeds each of random and pct. All
// its work is waited for before the log is read.
std::set<Log> Schedules(const std::function<void(Device&)>& program, uint64_t seeds = 200);

// Runs `program` once for each schedule; it checks what it wants itself.
void ForSchedules(const std::function<void(Device&)>& program, uint64_t seeds = 50);

bool Always(const std::set<Log>& logs, uint32_t first, uint32_t second);
bool Sometimes(const std::set<Log>& logs, uint32_t first, uint32_t second);

// `first` and `second` are ordered in every schedule, and unordered in none.
#define EXPECT_ORDERED(logs, first, second) EXPECT_TRUE(Always(logs, first, second))
// Both orders are seen.
#define EXPECT_UNORDERED(logs, first, second)  \
  EXPECT_TRUE(Sometimes(logs, first, second)); \
  EXPECT_TRUE(Sometimes(logs, second, first))

}  // namespace ss::vgpu_test
