// The interface itself: finding functions, modules, launches, contexts, errors, threads, hangs,
// fork.
#include <dlfcn.h>
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "device.h"

VGPU_KERNEL(mixed, (uint8_t a, double b, uint16_t c, uint64_t* out)) {
  *out = a + static_cast<uint64_t>(b) * 1000 + uint64_t{c} * 1000000;
}
VGPU_KERNEL(count_threads, (uint32_t * seen)) { ++seen[vgpu_thread()]; }

namespace ss::vgpu_test {
namespace {

template <typename Function>
Function Proc(const char* name, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult* status) {
  void* found = nullptr;
  EXPECT_CU(cuGetProcAddress(name, &found, version, flags, status));
  return reinterpret_cast<Function>(found);
}

void* Symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

TEST(Driver, ProcAddressesAreThoseOfTheSymbols) {
  CUdriverProcAddressQueryResult status{};
  const auto get = [&](const char* name, int version, cuuint64_t flags) {
    return Proc<void*>(name, version, flags, &status);
  };
  EXPECT_EQ(Symbol("cuMemAlloc_v2"), get("cuMemAlloc", CUDA_VERSION, 0));
  EXPECT_EQ(Symbol("cuLaunchKernel"), get("cuLaunchKernel", CUDA_VERSION, 0));
  EXPECT_EQ(Symbol("cuLaunchKernel_ptsz"), get("cuLaunchKernel", CUDA_VERSION, 2));
  EXPECT_EQ(Symbol("cuMemcpyHtoD_v2_ptds"), get("cuMemcpyHtoD", CUDA_VERSION, 2));
  EXPECT_EQ(Symbol("cuMemcpyHtoD_v2"), get("cuMemcpyHtoD", CUDA_VERSION, 1));
  EXPECT_EQ(Symbol("cuMemAlloc_v2"), get("cuMemAlloc", CUDA_VERSION, 2));  // has no per-thread form
  EXPECT_EQ(Symbol("cuCtxCreate_v2"), get("cuCtxCreate", 11030, 0));
  EXPECT_EQ(Symbol("cuCtxCreate_v3"), get("cuCtxCreate", 11040, 0));
  EXPECT_EQ(Symbol("cuGetProcAddress"), get("cuGetProcAddress", 11030, 0));
  EXPECT_EQ(Symbol("cuGetProcAddress_v2"), get("cuGetProcAddress", 12000, 0));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SUCCESS, status);
  EXPECT_EQ(nullptr, get("cuLaunchKernelEx", 11000, 0));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
  EXPECT_EQ(nullptr, get("cuNoSuchThing", CUDA_VERSION, 0));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
  void* address = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &address, 12000, 99, nullptr));
}

TEST(Driver, FunctionsThatAreNotThereSaySo) {
  Device device("eager", 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectDestroy(0));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectDestroy(0));
  EXPECT_EQ("vgpu: cuTexObjectDestroy is not implemented\n",
            testing::internal::GetCapturedStderr());
}

TEST(Driver, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  EXPECT_CU(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
  EXPECT_STREQ("CUDA_ERROR_INVALID_VALUE", text);
  EXPECT_CU(cuGetErrorString(CUDA_ERROR_NOT_READY, &text));
  EXPECT_STREQ("not ready", text);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &text));
}

TEST(Driver, NothingWorksBeforeInitOrWithoutContext) {
  vgpu_restart("eager", 0);
  int count = 0;
  CUstream stream = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuStreamCreate(&stream, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuInit(1));
  EXPECT_CU(cuInit(0));
  EXPECT_CU(cuDeviceGetCount(&count));
  EXPECT_EQ(2, count);
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(nullptr));
  CUdevice nothing = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&nothing, 2));
}

TEST(Driver, StaleHandlesAreRefused) {
  Device device("eager", 0);
  CUstream stream = device.Stream();
  CUevent event = device.Event();
  EXPECT_CU(cuStreamDestroy(stream));
  EXPECT_CU(cuEventDestroy(event));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(nullptr, event, 0));
  auto junk = reinterpret_cast<CUfunction>(&stream);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(junk, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(reinterpret_cast<CUcontext>(&stream)));
}

TEST(Driver, EventTimes) {
  Device device("lazy", 0);
  CUevent start = nullptr, end = nullptr;
  EXPECT_CU(cuEventCreate(&start, CU_EVENT_DEFAULT));
  EXPECT_CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
  float ms = -1;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, end));
  device.Record(start, nullptr);
  device.Mark(nullptr, 1);
  device.Record(end, nullptr);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, start, end));
  EXPECT_CU(cuEventSynchronize(end));
  EXPECT_CU(cuEventElapsedTime(&ms, start, end));
  EXPECT_GT(ms, 0);
  device.Record(device.Event(), nullptr);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, device.Event()));
}

TEST(Driver, Modules) {
  Device device("eager", 0);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const char cubin[64] = "\177ELF and more";
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, cubin));
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("not a cubin"));
  EXPECT_CU(cuModuleLoadData(&module, ::vgpu::Image()));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "nothing"));
  EXPECT_CU(cuModuleGetFunction(&function, module, "mixed"));
  const char* name = nullptr;
  EXPECT_CU(cuFuncGetName(&name, function));
  EXPECT_STREQ("mixed", name);
  size_t offset = 0, size = 0;
  const size_t expected[][2] = {{0, 1}, {8, 8}, {16, 2}, {24, 8}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_CU(cuFuncGetParamInfo(function, i, &offset, &size));
    EXPECT_EQ(expected[i][0], offset);
    EXPECT_EQ(expected[i][1], size);
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(function, 4, &offset, &size));
  EXPECT_CU(cuModuleUnload(module));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuFuncGetParamInfo(function, 0, &offset, &size));
}

TEST(Driver, DamagedFilesAreNoModules) {
  Device device("eager", 0);
  const std::string path = testing::TempDir() + "vgpu_damaged.cubin";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = 190;
  header.e_shoff = 1000;
  header.e_shnum = 3;
  const std::string header_only(reinterpret_cast<const char*>(&header), sizeof header);
  CUmodule module = nullptr;
  testing::internal::CaptureStderr();
  for (const std::string& bytes :
       {std::string(), std::string("\177ELF"), header_only, header_only + "more"}) {
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(CUDA_ERROR_INVALID_IMAGE, cuModuleLoad(&module, path.c_str()));
  }
  EXPECT_NE(std::string::npos,
            testing::internal::GetCapturedStderr().find("ends before its cubin"));
  std::remove(path.c_str());
  EXPECT_EQ(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, path.c_str()));
}

// Every way to hand parameters over gives the kernel the same.
TEST(Driver, Launches) {
  Device device("eager", 0);
  CUdeviceptr out = device.Memory(8);
  auto* result = View<uint64_t>(out);
  uint8_t a = 5;
  double b = 7;
  uint16_t c = 9;
  void* values[] = {&a, &b, &c, &out};
  constexpr uint64_t kExpected = 9007005;
  CUfunction function = device.Function("mixed");

  EXPECT_CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr));
  EXPECT_EQ(kExpected, std::exchange(*result, 0));
  EXPECT_CU(cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, values));
  EXPECT_EQ(kExpected, std::exchange(*result, 0));

  char buffer[32] = {};
  std::memcpy(buffer, &a, 1);
  std::memcpy(buffer + 8, &b, 8);
  std::memcpy(buffer + 16, &c, 2);
  std::memcpy(buffer + 24, &out, 8);
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  EXPECT_CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(kExpected, std::exchange(*result, 0));

  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_CU(cuLaunchKernelEx(&config, function, values, nullptr));
  EXPECT_EQ(kExpected, std::exchange(*result, 0));
  attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernelEx(&config, function, values, nullptr));

  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  EXPECT_CU(cuLibraryLoadData(&library, ::vgpu::Image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  EXPECT_CU(cuLibraryGetKernel(&kernel, library, "mixed"));
  EXPECT_CU(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr,
                           values, nullptr));
  EXPECT_EQ(kExpected, std::exchange(*result, 0));
  CUfunction of_kernel = nullptr;
  EXPECT_CU(cuKernelGetFunction(&of_kernel, kernel));
  EXPECT_CU(cuLaunchKernel(of_kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr));
  EXPECT_EQ(kExpected, *result);
  size_t offset = 0, size = 0;
  EXPECT_CU(cuKernelGetParamInfo(kernel, 3, &offset, &size));
  EXPECT_EQ(24u, offset);
  EXPECT_CU(cuLibraryUnload(library));
}

TEST(Driver, LaunchErrors) {
  Device device("eager", 0);
  CUfunction function = device.Function("mixed");
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,  // has parameters, none given
            cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CUcontext other = nullptr;
  EXPECT_CU(cuDevicePrimaryCtxRetain(&other, 1));
  EXPECT_CU(cuCtxSetCurrent(other));
  uint8_t a = 0;
  void* values[] = {&a, &a, &a, &a};
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,  // module of another context
            cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr));
}

TEST(Driver, EveryThreadOfTheGridRunsOnce) {
  ForSchedules([](Device& device) {
    CUdeviceptr seen = device.Memory(4 * 210);
    void* values[] = {&seen};
    EXPECT_CU(cuLaunchKernel(device.Function("count_threads"), 5, 3, 2, 7, 1, 1, 0, nullptr, values,
                             nullptr));
    EXPECT_CU(cuCtxSynchronize());
    for (int i = 0; i < 210; ++i) ASSERT_EQ(1u, View<uint32_t>(seen)[i]) << i;
  });
}

TEST(Driver, ContextStack) {
  Device device("eager", 0);
  CUcontext made = nullptr, current = nullptr;
  EXPECT_CU(cuCtxCreate(&made, nullptr, 0, 1));
  CUdevice number = 0;
  EXPECT_CU(cuCtxGetDevice(&number));
  EXPECT_EQ(1, number);
  EXPECT_CU(cuCtxPushCurrent(device.context()));
  EXPECT_CU(cuCtxPopCurrent(&current));
  EXPECT_EQ(device.context(), current);
  EXPECT_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(made, current);
  CUstream stream = device.Stream();
  EXPECT_CU(cuCtxDestroy(made));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(made));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(device.context()));  // primary
  EXPECT_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(device.context(), current);
}

TEST(Driver, SameSeedSameSchedule) {
  for (const char* policy : {"random", "pct"}) {
    std::set<Log> different;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      Log logs[2];
      for (Log& log : logs) {
        Device device(policy, seed);
        CUstream streams[] = {device.Stream(), device.Stream(), device.Stream()};
        for (uint32_t i = 0; i < 12; ++i) device.Mark(streams[i % 3], i);
        EXPECT_CU(cuCtxSynchronize());
        log = device.ReadLog();
      }
      ASSERT_EQ(logs[0], logs[1]) << policy << " seed " << seed;
      different.insert(logs[0]);
    }
    EXPECT_GT(different.size(), 5u) << policy;
  }
}

TEST(Driver, EagerRunsInIssueOrder) {
  Device device("eager", 0);
  CUstream a = device.Stream(), b = device.Stream();
  for (uint32_t i = 0; i < 6; ++i) device.Mark(i % 2 ? a : b, i);
  EXPECT_EQ((Log{0, 1, 2, 3, 4, 5}), device.ReadLog());
}

TEST(Driver, LazyRunsNothingUnasked) {
  Device device("lazy", 0);
  CUstream a = device.Stream(), b = device.Stream();
  for (uint32_t i = 0; i < 6; ++i) device.Mark(i % 2 ? a : b, i);
  EXPECT_EQ(Log{}, device.ReadLog());
  EXPECT_CU(cuStreamSynchronize(a));
  EXPECT_EQ((Log{1, 3, 5}), device.ReadLog());
}

// Unordered with everything, the first kernel comes last.
TEST(Driver, LazyRunsTheEarliestLast) {
  Device device("lazy", 0);
  CUstream a = device.Stream(), b = device.Stream(), c = device.Stream();
  device.Mark(a, 1);
  device.Mark(b, 2);
  CUevent event = device.Event();
  device.Record(event, b);
  device.Wait(c, event);
  device.Mark(c, 3);
  EXPECT_CU(cuCtxSynchronize());
  EXPECT_EQ((Log{2, 3, 1}), device.ReadLog());
}

TEST(Driver, SeveralHostThreads) {
  ForSchedules(
      [](Device& device) {
        constexpr int kThreads = 4, kRounds = 20;
        std::thread threads[kThreads];
        CUdeviceptr data[kThreads];
        for (CUdeviceptr& each : data) each = device.Memory(64);
        for (int t = 0; t < kThreads; ++t) {
          threads[t] = std::thread([&device, t, address = data[t]] {
            EXPECT_CU(cuCtxSetCurrent(device.context()));
            CUstream stream = device.Stream();
            CUevent event = device.Event();
            for (uint32_t i = 1; i <= kRounds; ++i) {
              device.Store(stream, address, i, 16);
              device.Record(event, stream);
              if (i % 3 == 0) {
                EXPECT_CU(cuEventSynchronize(event));
              }
              if (i % 3 == 1) (void)cuEventQuery(event);
            }
            EXPECT_CU(cuStreamSynchronize(stream));
            EXPECT_EQ(20u, View<uint32_t>(address)[15]) << t;
            EXPECT_CU(cuStreamDestroy(stream));
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      10);
}

TEST(Driver, HostFunctionsMayNotCallTheDriver) {
  Device device("eager", 0);
  CUresult result = CUDA_SUCCESS;
  EXPECT_CU(cuLaunchHostFunc(
      nullptr, [](void* out) { *static_cast<CUresult*>(out) = cuCtxSynchronize(); }, &result));
  EXPECT_CU(cuCtxSynchronize());
  EXPECT_EQ(CUDA_ERROR_NOT_PERMITTED, result);
}

TEST(Driver, AForkedChildHasNoDevice) {
  Device device("eager", 0);
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    const bool refused = cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  device.Mark(nullptr, 1);
  EXPECT_CU(cuCtxSynchronize());
}

}  // namespace
}  // namespace ss::vgpu_test
