// A thin layer over the driver's interface for the incidents: one device, named streams, typed
// launches. Errors of the driver end the program with exit code 2: nothing here can recover from
// one.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace ss::incidents {

void Check(CUresult result, const char* what);
#define CU(call) ::ss::incidents::Check((call), #call)

// Kernel parameters by address, as cuLaunchKernel takes them.
template <typename... Args>
struct Arguments {
  explicit Arguments(Args... arguments) : values(arguments...) {
    std::apply([this](auto&... value) { pointers = {&value..., nullptr}; }, values);
  }
  std::tuple<Args...> values;
  std::array<void*, sizeof...(Args) + 1> pointers;
};

constexpr unsigned kBlocks = 8;
constexpr unsigned kThreads = 32;

// Launches `kernel`; the arguments must have the sizes of its parameters. A macro, so that
// the call of the driver, and with it the place that a report names, is the line that says LAUNCH.
#define LAUNCH(gpu, stream, kernel, ...)                                            \
  CU(cuLaunchKernel((gpu).Kernel(kernel), kBlocks, 1, 1, kThreads, 1, 1, 0, stream, \
                    ::ss::incidents::Arguments(__VA_ARGS__).pointers.data(), nullptr))

class Gpu {
 public:
  // `declare`: tell the tool what the kernels read and write; without, their machine code has to
  // say it.
  Gpu(uint64_t delay_ns, bool declare);
  ~Gpu();  // waits for the device and gives everything back
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // A non-blocking stream, as frameworks use them; `name` appears in reports.
  CUstream Stream(const char* name);
  // The legacy default stream under a name.
  CUstream DefaultStream(const char* name);
  CUevent Event();
  // Plain cuMemAlloc, zeroed, not from the caching allocator; freed at the end.
  template <typename T>
  T* Buffer(uint32_t n, const char* name) {
    return reinterpret_cast<T*>(Allocate(n * sizeof(T), name));
  }

  CUfunction Kernel(const char* name) const { return kernels_.at(name); }

  // On a real GPU: what `stream` is given next is late by the delay that the user asked for.
  void Late(CUstream stream) {
    if (delay_ns_) LAUNCH(*this, stream, "busy", delay_ns_);
  }

  // consumer waits for what `producer` has been given so far, through a fresh event.
  void WaitStream(CUstream consumer, CUstream producer);

 private:
  CUdeviceptr Allocate(size_t bytes, const char* name);

  const uint64_t delay_ns_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUdeviceptr> buffers_;
};

}  // namespace ss::incidents
