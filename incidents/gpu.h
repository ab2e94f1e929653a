// A thin layer over the driver's interface for the incidents: one device, named streams, typed launches.
// Errors of the driver end the program with exit code 2: nothing here can recover from one.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ss::incidents {

void Check(CUresult result, const char* what);
#define CU(call) ::ss::incidents::Check((call), #call)

class Gpu {
 public:
  explicit Gpu(uint64_t delay_ns);
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

  // `arguments` must have exactly the types of the kernel's parameters.
  template <typename... Args>
  void Launch(CUstream stream, const char* kernel, Args... arguments) {
    void* parameters[] = {&arguments..., nullptr};
    LaunchRaw(stream, kernel, parameters);
  }

  // On a real GPU: what `stream` is given next is late by the delay that the user asked for.
  void Late(CUstream stream) {
    if (delay_ns_) Launch(stream, "busy", delay_ns_);
  }

  // consumer waits for what `producer` has been given so far, through a fresh event.
  void WaitStream(CUstream consumer, CUstream producer);

 private:
  CUdeviceptr Allocate(size_t bytes, const char* name);
  void LaunchRaw(CUstream stream, const char* kernel, void** parameters);

  const uint64_t delay_ns_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUdeviceptr> buffers_;
};

}  // namespace ss::incidents
