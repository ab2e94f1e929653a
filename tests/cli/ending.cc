// A driver-API program with one hazard (two streams write one buffer) that ends in the way it is
// told: exit N | abort | kill | hang | stubborn | _exit N | fork N
#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "ending: %s: %d\n", what, result);
  std::exit(9);
}

void TwoWriters() {
  CUdevice device;
  CUcontext context;
  CUstream one, two;
  CUdeviceptr buffer;
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  Check(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  Check(cuMemAlloc(&buffer, 4096), "cuMemAlloc");
  Check(cuMemsetD8Async(buffer, 1, 4096, one), "cuMemsetD8Async");
  Check(cuMemsetD8Async(buffer, 2, 4096, two), "cuMemsetD8Async");
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  int code = argc > 2 ? std::atoi(argv[2]) : 0;
  if (!std::strcmp(how, "idle")) return code;  // never touches the driver
  TwoWriters();
  std::printf("ready\n");
  std::fflush(stdout);
  if (!std::strcmp(how, "abort")) std::abort();
  if (!std::strcmp(how, "kill")) raise(SIGKILL);
  if (!std::strcmp(how, "_exit")) _exit(code);
  if (!std::strcmp(how, "stubborn")) signal(SIGINT, SIG_IGN);
  if (!std::strcmp(how, "hang") || !std::strcmp(how, "stubborn")) {
    for (;;) pause();
  }
  if (!std::strcmp(how, "fork")) {
    if (fork() == 0) _exit(0);
    wait(nullptr);
  }
  return code;
}
