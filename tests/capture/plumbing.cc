// Lookups and calls against the fake driver.
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Nine = CUresult (*)(size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t);
using Proc = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

bool IsOurs(const void* function) {
  Dl_info info;
  return function && dladdr(function, &info) && strstr(info.dli_fname, "libstreamsan_capture");
}

void* Ask(Proc proc, const char* name, int version) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  proc(name, &function, version, 0, &status);
  return function;
}

template <class F>
F* Find(void* driver, const char* name) {
  return reinterpret_cast<F*>(dlsym(driver, name));
}
#define FIND(name) Find<decltype(name)>(driver, #name)

// What a stream that captures is asked to do goes into a graph and does not run.
void Capture(void* driver) {
  auto* stream = reinterpret_cast<CUstream>(0x200);
  auto* other = reinterpret_cast<CUstream>(0x201);
  auto* kernel = reinterpret_cast<CUfunction>(0x300);
  auto* begin = Find<decltype(cuStreamBeginCapture)>(driver, "cuStreamBeginCapture_v2");
  auto* end = FIND(cuStreamEndCapture);
  auto* launch = FIND(cuLaunchKernel);
  auto* host = FIND(cuLaunchHostFunc);
  void* params[10];
  uint64_t word = 0;
  for (void*& param : params) param = &word;
  CUgraph graph;
  int calls = 0;
  auto count = [](void* counter) { ++*static_cast<int*>(counter); };
  launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
  launch(kernel, 1, 1, 1, 1, 1, 1, 0, other, params, nullptr);
  host(stream, count, &calls);
  end(stream, &graph);
  launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
  printf("captured_function_ran %d\n", calls);
  launch(reinterpret_cast<CUfunction>(0x301), 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
}

// A child that exits at once and one that goes on with the driver (which real drivers refuse).
int Fork(void* driver) {
  auto* init = FIND(cuInit);
  auto* sync = FIND(cuStreamSynchronize);
  init(0);
  sync(nullptr);
  pid_t quiet = fork();
  if (quiet == 0) exit(0);
  pid_t busy = fork();
  if (busy == 0) {
    init(0);
    for (int i = 0; i < 3; ++i) sync(nullptr);
    exit(0);
  }
  int status;
  waitpid(quiet, &status, 0);
  waitpid(busy, &status, 0);
  sync(nullptr);
  return 0;
}

void Show(const char* name, int value) { printf("%s %d\n", name, value); }

}  // namespace

int main(int argc, char**) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!driver) return 1;
  if (argc > 1) return Fork(driver);
  auto init = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto nine = reinterpret_cast<Nine>(dlsym(driver, "cuMemDiscardBatchAsync_ptsz"));
  if (!init || !nine) return 1;
  dlerror();
  if (init(0) != CUDA_SUCCESS) return 1;
  Show("stale_error", dlerror() != nullptr);
  Show("nine_arguments", nine(1, 2, 3, 4, 5, 6, 7, 8, 9));
  Show("nine_again", nine(1, 2, 3, 4, 5, 6, 7, 8, 9));
  Show("lacking_by_handle", dlsym(driver, "cuGraphLaunch") != nullptr);
  Show("lacking_by_default", dlsym(RTLD_DEFAULT, "cuGraphLaunch") != nullptr);
  Show("present_by_default", dlsym(RTLD_DEFAULT, "cuStreamQuery") != nullptr);
  void* lookalike = dlopen("libcapture_lookalike.so", RTLD_NOW);
  auto own = reinterpret_cast<int (*)()>(lookalike ? dlsym(lookalike, "cuGraphLaunch") : nullptr);
  Show("other_function_of_that_name", own && !IsOurs(reinterpret_cast<void*>(own)) ? own() : 0);
  auto proc = reinterpret_cast<Proc>(dlsym(driver, "cuGetProcAddress_v2"));
  Show("old_form_is_ours", IsOurs(Ask(proc, "cuStreamQuery", 99000)));
  Show("unexported_is_ours", IsOurs(Ask(proc, "cuEventQuery", 13000)));
  void* newer = Ask(proc, "cuEventQuery", 99000);
  Show("newer_form_is_the_drivers", newer && !IsOurs(newer));
  Capture(driver);
  return 0;
}
