// What the capture library adds to a kernel launch with 10 pointer arguments: nanoseconds of the
// launching thread, hooks off/on/off/on inside one process (whole processes differ by more than
// what is measured).
//
//   capture_bench [LAUNCHES]            default 200,000
//   capture_bench --gpu [LAUNCHES]      on the driver of this machine, which has an NVIDIA GPU
//
// Without a GPU on two drivers of this build: one that does nothing, which shows the library's own
// time with everything in the cache, and the virtual GPU, whose own work between two launches
// pushes us out of it. Off is the driver's own function, on is what the program would find by
// dlsym. Depth: 24 frames of the program between main and the launch. A collector in the parent
// process drains and discards.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "bench/timing.h"
#include "src/capture/elf_lookup.h"
#include "src/trace/collector.h"
#include "vgpu/kernel.h"

VGPU_KERNEL(ten, (float* a, float* b, float* c, float* d, float* e, float* f, float* g, float* h,
                  float* i, float* j)) {
  if (vgpu_thread() == 0) a[0] = b[0] = c[0] = d[0] = e[0] = f[0] = g[0] = h[0] = i[0] = j[0] = 1;
}

namespace ss::bench {
namespace {

// The same kernel for a GPU: one thread stores through the first pointer.
constexpr char kPtx[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry ten(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e,
                    .param .u64 f, .param .u64 g, .param .u64 h, .param .u64 i, .param .u64 j)
{
  .reg .b64 %p, %q;
  .reg .b32 %r;
  ld.param.u64 %p, [a];
  cvta.to.global.u64 %q, %p;
  mov.u32 %r, 1;
  st.global.u32 [%q], %r;
  ret;
}
)";

constexpr int kRounds = 9;
constexpr unsigned kBatch = 256;  // launches between two synchronisations, which are not timed
constexpr int kDepth = 24;
constexpr int kPointers = 10;
constexpr double kGoalWithout = 300;
constexpr double kGoalWith = 1500;

using LaunchFunction = decltype(&cuLaunchKernel);

struct Work {
  CUfunction kernel;
  CUstream stream;
  CUdeviceptr blocks[kPointers];
  void* params[kPointers];
  CUresult (*synchronize)();
  unsigned launches;
};

[[noreturn]] void Fail(const char* what, int code) {
  fprintf(stderr, "capture_bench: %s: %d\n", what, code);
  exit(1);
}
void Must(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) Fail(what, result);
}

template <class F>
void Find(void* driver, const char* symbol, F*& function) {
  function = reinterpret_cast<F*>(dlsym(driver, symbol));
  if (!function) Fail(symbol, 0);
}

Work Start(void* driver, unsigned launches, bool gpu) {
  Work work{};
  work.launches = launches;
  CUresult (*init)(unsigned);
  CUresult (*retain)(CUcontext*, CUdevice);
  CUresult (*set_current)(CUcontext);
  CUresult (*stream_create)(CUstream*, unsigned);
  CUresult (*load)(CUmodule*, const void*);
  CUresult (*get)(CUfunction*, CUmodule, const char*);
  CUresult (*allocate)(CUdeviceptr*, size_t);
  Find(driver, "cuInit", init);
  Find(driver, "cuDevicePrimaryCtxRetain", retain);
  Find(driver, "cuCtxSetCurrent", set_current);
  Find(driver, "cuStreamCreate", stream_create);
  Find(driver, "cuModuleLoadData", load);
  Find(driver, "cuModuleGetFunction", get);
  Find(driver, "cuMemAlloc_v2", allocate);
  CUcontext context;
  CUmodule module;
  Must(init(0), "cuInit");
  Must(retain(&context, 0), "cuDevicePrimaryCtxRetain");
  Must(set_current(context), "cuCtxSetCurrent");
  Must(stream_create(&work.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  Must(load(&module, gpu ? static_cast<const void*>(kPtx) : vgpu::Image()), "cuModuleLoadData");
  Must(get(&work.kernel, module, "ten"), "cuModuleGetFunction");
  for (int i = 0; i < kPointers; ++i) Must(allocate(&work.blocks[i], 1 << 20), "cuMemAlloc");
  work.synchronize =
      reinterpret_cast<CUresult (*)()>(capture::FindInImage("libcuda.so", "cuCtxSynchronize"));
  return work;
}

__attribute__((noinline)) double LaunchBatch(const Work& work, LaunchFunction launch, int depth) {
  if (depth > 0) {
    double seconds = LaunchBatch(work, launch, depth - 1);
    asm volatile("" ::: "memory");  // no tail call: a frame a level
    return seconds;
  }
  double begin = ThreadSeconds();
  for (unsigned i = 0; i < kBatch; ++i) {
    CUresult result = launch(work.kernel, 1, 1, 1, 1, 1, 1, 0, work.stream,
                             const_cast<void**>(work.params), nullptr);
    if (result != CUDA_SUCCESS) Fail("cuLaunchKernel", result);
  }
  return ThreadSeconds() - begin;
}

double NanosecondsEach(const Work& work, LaunchFunction launch) {
  double seconds = 0;
  unsigned done = 0;
  for (; done < work.launches; done += kBatch) {
    seconds += LaunchBatch(work, launch, kDepth);
    Must(work.synchronize(), "cuCtxSynchronize");
  }
  return seconds * 1e9 / done;
}

// The watched process. Prints "off on" in nanoseconds, medians over the rounds.
int Measure(unsigned launches, bool gpu) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) Fail(dlerror(), 0);
  Work work = Start(driver, launches, gpu);
  for (int i = 0; i < kPointers; ++i) work.params[i] = &work.blocks[i];
  auto off = reinterpret_cast<LaunchFunction>(capture::FindInImage("libcuda.so", "cuLaunchKernel"));
  auto on = reinterpret_cast<LaunchFunction>(dlsym(driver, "cuLaunchKernel"));
  if (off == on) Fail("the capture library is not preloaded", 0);
  NanosecondsEach(work, off);
  NanosecondsEach(work, on);
  std::vector<double> without, with, difference;
  for (int i = 0; i < kRounds; ++i) {
    without.push_back(NanosecondsEach(work, off));
    with.push_back(NanosecondsEach(work, on));
    difference.push_back(with.back() - without.back());
  }
  printf("%f %f %f\n", Median(without), Median(with), Median(difference));
  return 0;
}

struct Setup {
  const char* name;
  const char* options;
  bool watched;
};

// An empty folder: the driver of this machine.
struct DriverChoice {
  std::string name, folder;
};

// Where this build's bin/ and lib/ are: the binaries may have been carried to another machine.
std::string BuildFolder() {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) Fail("/proc/self/exe", errno);
  std::string self = path;
  std::string bin = self.substr(0, self.rfind('/'));
  return bin.substr(0, bin.rfind('/'));
}

struct Result {
  double off = 0, on = 0, difference = 0;
};

Result RunChild(const Setup& setup, const DriverChoice& driver, const std::string& launches,
                const std::string& socket) {
  int out[2];
  if (pipe(out) != 0) Fail("pipe", errno);
  pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    setenv("LD_PRELOAD", (BuildFolder() + "/lib/libstreamsan_capture.so").c_str(), 1);
    if (!driver.folder.empty()) setenv("LD_LIBRARY_PATH", driver.folder.c_str(), 1);
    setenv("STREAMSAN_OPTIONS", setup.options, 1);
    if (setup.watched) setenv("STREAMSAN_SOCKET", socket.c_str(), 1);
    execl("/proc/self/exe", "capture_bench", driver.folder.empty() ? "--measure-gpu" : "--measure",
          launches.c_str(), nullptr);
    _exit(127);
  }
  close(out[1]);
  FILE* answer = fdopen(out[0], "r");
  Result result;
  bool read = fscanf(answer, "%lf %lf %lf", &result.off, &result.on, &result.difference) == 3;
  fclose(answer);
  int status = 0;
  waitpid(child, &status, 0);
  if (!read || status != 0) Fail(setup.name, status);
  return result;
}

class Discard : public trace::ProcessSink {
 public:
  explicit Discard(uint64_t* bytes) : bytes_(bytes) {}
  void Records(uint32_t, trace::ByteSpan records) override { *bytes_ += records.size(); }
  void End(const trace::ProcessEnding& ending) override {
    if (ending.dropped_at_end) printf("dropped %llu\n", (unsigned long long)ending.dropped_at_end);
  }

 private:
  uint64_t* bytes_;
};

void Compare(const DriverChoice& driver, const std::string& launches) {
  uint64_t bytes = 0;
  trace::CollectorOptions options;
  options.make_sinks = [&](const trace::ProcessInfo&) {
    trace::Sinks sinks;
    sinks.push_back(std::make_unique<Discard>(&bytes));
    return sinks;
  };
  auto collector = trace::Collector::Start(options);
  if (!collector) Fail("collector", 0);
  const Setup setups[] = {{"passive (no collector)", "", false},
                          {"without stacks", "stacks=0", true},
                          {"with stacks", "stacks=1", true}};
  double added[3];
  for (int i = 0; i < 3; ++i) {
    Result result = RunChild(setups[i], driver, launches, (*collector)->socket_name());
    printf("%s, %-24s off %7.1f ns, on %7.1f ns, added %7.1f ns a launch\n", driver.name.c_str(),
           setups[i].name, result.off, result.on, result.difference);
    added[i] = result.difference;
  }
  (*collector)->WaitUntilIdle(std::chrono::seconds(10));
  printf("%.1f MB of records; goals: %.0f ns without stacks, %.0f ns with\n",
         static_cast<double>(bytes) / 1e6, kGoalWithout, kGoalWith);
  printf("RATIO capture_passive_ns_%s %.1f\n", driver.name.c_str(), added[0]);
  printf("RATIO capture_launch_ns_%s %.1f\n", driver.name.c_str(), added[1]);
  printf("RATIO capture_launch_with_stacks_ns_%s %.1f\n", driver.name.c_str(), added[2]);
}

}  // namespace
}  // namespace ss::bench

int main(int argc, char** argv) {
  using namespace ss::bench;
  std::string first = argc > 1 ? argv[1] : "", second = argc > 2 ? argv[2] : "";
  if (first == "--measure" || first == "--measure-gpu") {
    return Measure(static_cast<unsigned>(atoi(second.c_str())), first == "--measure-gpu");
  }
  const std::string& launches = first == "--gpu" ? second : first;
  if (!launches.empty() && atoi(launches.c_str()) <= 0) {
    fprintf(stderr, "usage: capture_bench [--gpu] [LAUNCHES]\n");
    return 2;
  }
  if (first == "--gpu") {
    Compare({"gpu", ""}, second.empty() ? "200000" : second);
    return 0;
  }
  for (const char* name : {"fake_driver", "vgpu"}) {
    DriverChoice driver{strcmp(name, "vgpu") ? "empty" : "vgpu", BuildFolder() + "/lib/" + name};
    if (access((driver.folder + "/libcuda.so.1").c_str(), R_OK) != 0) continue;
    Compare(driver, first.empty() ? "200000" : first);
  }
  return 0;
}
