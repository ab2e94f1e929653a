// Lookups and calls against the fake driver.
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// A program's own function of a driver's name, found through its own handle: not the driver's business.
extern "C" __attribute__((visibility("default"))) int cuLaunchGrid_of_this_program() { return 77; }

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

void Show(const char* name, int value) { printf("%s %d\n", name, value); }

}  // namespace

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!driver) return 1;
  auto init = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto nine = reinterpret_cast<Nine>(dlsym(driver, "cuMemcpyBatchAsync"));
  if (!init || !nine || init(0) != CUDA_SUCCESS) return 1;
  Show("nine_arguments", nine(1, 2, 3, 4, 5, 6, 7, 8, 9));
  Show("nine_again", nine(1, 2, 3, 4, 5, 6, 7, 8, 9));
  Show("lacking_by_handle", dlsym(driver, "cuGraphLaunch") != nullptr);
  Show("lacking_by_default", dlsym(RTLD_DEFAULT, "cuGraphLaunch") != nullptr);
  Show("present_by_default", dlsym(RTLD_DEFAULT, "cuStreamQuery") != nullptr);
  auto own = reinterpret_cast<int (*)()>(dlsym(dlopen(nullptr, RTLD_NOW), "cuLaunchGrid_of_this_program"));
  Show("own_function_of_that_name", own ? own() : 0);
  auto proc = reinterpret_cast<Proc>(dlsym(driver, "cuGetProcAddress_v2"));
  Show("old_form_is_ours", IsOurs(Ask(proc, "cuStreamQuery", 99000)));
  Show("unexported_is_ours", IsOurs(Ask(proc, "cuEventQuery", 13000)));
  void* newer = Ask(proc, "cuEventQuery", 99000);
  Show("newer_form_is_the_drivers", newer && !IsOurs(newer));
  dlerror();
  auto sync = reinterpret_cast<CUresult (*)(CUstream)>(dlsym(driver, "cuStreamSynchronize"));
  if (sync(nullptr) != CUDA_SUCCESS) return 1;
  Show("stale_error", dlerror() != nullptr);
  return 0;
}
