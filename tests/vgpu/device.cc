#include "device.h"

#include <algorithm>

VGPU_KERNEL(mark, (uint32_t * log, uint32_t id)) { log[++log[0]] = id; }

VGPU_KERNEL(store, (uint32_t * target, uint32_t value, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) target[i] = value;
}

VGPU_KERNEL(sum, (const uint32_t* source, uint32_t n, uint32_t* result)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) *result += source[i];
}

namespace ss::vgpu_test {

namespace {

constexpr uint32_t kLogSize = 256;

void Run(const char* policy, uint64_t seed, const std::function<void(Device&)>& program) {
  SCOPED_TRACE(std::string(policy) + " seed " + std::to_string(seed));
  Device device(policy, seed);
  program(device);
}

void Each(const std::function<void(Device&)>& program, uint64_t seeds) {
  Run("eager", 0, program);
  Run("lazy", 0, program);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Run("random", seed, program);
    Run("pct", seed, program);
    if (::testing::Test::HasFailure()) return;  // one schedule's worth of complaints is enough
  }
}

size_t Position(const Log& log, uint32_t id) {
  return static_cast<size_t>(std::find(log.begin(), log.end(), id) - log.begin());
}

}  // namespace

Device::Device(const char* policy, uint64_t seed) {
  EXPECT_TRUE(vgpu_restart(policy, seed));
  EXPECT_CU(cuInit(0));
  EXPECT_CU(cuDevicePrimaryCtxRetain(&context_, 0));
  EXPECT_CU(cuCtxSetCurrent(context_));
  EXPECT_CU(cuModuleLoadData(&module_, ::vgpu::Image()));
  log_ = Memory(kLogSize * sizeof(uint32_t));
}

Device::~Device() {
  EXPECT_CU(cuCtxSetCurrent(context_));
  EXPECT_CU(cuCtxSynchronize());
}

CUstream Device::Stream(unsigned flags) {
  CUstream stream = nullptr;
  EXPECT_CU(cuStreamCreate(&stream, flags));
  return stream;
}

CUevent Device::Event() {
  CUevent event = nullptr;
  EXPECT_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  return event;
}

CUfunction Device::Function(const char* name) {
  CUfunction function = nullptr;
  EXPECT_CU(cuModuleGetFunction(&function, module_, name));
  return function;
}

CUdeviceptr Device::Memory(size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_CU(cuMemAlloc(&address, bytes));
  return address;
}

void Device::Mark(CUstream stream, uint32_t id, bool per_thread) {
  void* parameters[] = {&log_, &id};
  auto* launch = per_thread ? &cuLaunchKernel_ptsz : &cuLaunchKernel;
  EXPECT_CU(launch(Function("mark"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
}

void Device::HostMark(uint32_t id) {
  auto* log = View<uint32_t>(log_);
  log[++log[0]] = id;
}

void Device::Store(CUstream stream, CUdeviceptr target, uint32_t value, uint32_t n) {
  void* parameters[] = {&target, &value, &n};
  EXPECT_CU(cuLaunchKernel(Function("store"), 4, 1, 1, 2, 1, 1, 0, stream, parameters, nullptr));
}

void Device::Sum(CUstream stream, CUdeviceptr source, uint32_t n, CUdeviceptr result) {
  void* parameters[] = {&source, &n, &result};
  EXPECT_CU(cuLaunchKernel(Function("sum"), 4, 1, 1, 2, 1, 1, 0, stream, parameters, nullptr));
}

Log Device::ReadLog() const {
  const auto* log = View<uint32_t>(log_);
  return Log(log + 1, log + 1 + log[0]);
}

std::set<Log> Schedules(const std::function<void(Device&)>& program, uint64_t seeds) {
  std::set<Log> logs;
  Each(
      [&](Device& device) {
        program(device);
        EXPECT_CU(cuCtxSetCurrent(device.context()));
        EXPECT_CU(cuCtxSynchronize());
        logs.insert(device.ReadLog());
      },
      seeds);
  return logs;
}

void ForSchedules(const std::function<void(Device&)>& program, uint64_t seeds) {
  Each(program, seeds);
}

bool Always(const std::set<Log>& logs, uint32_t first, uint32_t second) {
  return !logs.empty() && !Sometimes(logs, second, first);
}

bool Sometimes(const std::set<Log>& logs, uint32_t first, uint32_t second) {
  return std::any_of(logs.begin(), logs.end(), [&](const Log& log) {
    const size_t a = Position(log, first), b = Position(log, second);
    EXPECT_TRUE(a < log.size() && b < log.size()) << "a mark is missing from a log";
    return a < b;
  });
}

}  // namespace ss::vgpu_test
