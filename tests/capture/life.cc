// The ways in which a watched process lives and dies, by argv[1].
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "src/capture/elf_lookup.h"
#include "streamsan/annotate.h"
#include "tests/capture/calls_kernels.h"

extern "C" CUresult cublas_for_test_alloc(CUdeviceptr* address, size_t bytes);

namespace {

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  exit(4);
}
#define OK(call) Must(call, #call)

CUcontext Start() {
  CUcontext context;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  return context;
}

int Sets(unsigned count) {
  CUdeviceptr block;
  OK(cuMemAlloc(&block, 4096));
  for (unsigned i = 0; i < count; ++i) OK(cuMemsetD8Async(block, 0, 64, nullptr));
  OK(cuCtxSynchronize());
  return 0;
}

// Without cuInit nothing is opened, whatever else the process does.
int Idle() {
  printf("pid %d\n", getpid());
  return 0;
}

int UnderscoreExit() {
  Start();
  Sets(10);
  _exit(7);
}

int Kill() {
  Start();
  Sets(10);
  kill(getpid(), SIGKILL);
  return 0;
}

int KillLate() {
  Start();
  Sets(70000);
  kill(getpid(), SIGKILL);
  return 0;
}

// The child touches CUDA too; its calls must not show up in the parent's rings.
int Fork() {
  Start();
  Sets(3);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "life", "sets", "5", nullptr);
    _exit(9);
  }
  Sets(2);
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// The child runs on and exits in an orderly way without using CUDA.
int ForkQuiet() {
  Start();
  Sets(3);
  pid_t child = fork();
  if (child == 0) exit(0);
  int status;
  waitpid(child, &status, 0);
  Sets(2);
  return WEXITSTATUS(status);
}

// CUDA only in the child.
int ForkFirst() {
  pid_t child = fork();
  if (child == 0) {
    Start();
    exit(Sets(5));
  }
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int Threads() {
  CUcontext context = Start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([context, i] {
      char name[16];
      snprintf(name, sizeof name, "worker%d", i);
      pthread_setname_np(pthread_self(), name);
      OK(cuCtxSetCurrent(context));
      Sets(100);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int Loop(unsigned count) {
  Start();
  CUdeviceptr block;
  OK(cuMemAlloc(&block, 4096));
  printf("started 1\n");
  fflush(stdout);
  for (unsigned i = 0; i < count; ++i) {
    OK(cuMemsetD8Async(block, 0, 64, nullptr));
    if (i % 64 == 0) OK(cuCtxSynchronize());
  }
  printf("done %u\n", count);
  return 0;
}

int Private() {
  Start();
  CUdeviceptr mine;
  CUdeviceptr theirs;
  OK(cuMemAlloc(&mine, 1000));
  OK(cublas_for_test_alloc(&theirs, 2000));
  return 0;
}

// The driver is in use before any hook saw a call.
int Late() {
  auto init = reinterpret_cast<decltype(&cuInit)>(ss::capture::FindInImage("libcuda.so", "cuInit"));
  OK(init(0));
  CUdevice device;
  CUcontext context;
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  return Sets(1);
}

__attribute__((noipa)) CUresult Innermost(CUdeviceptr block) {
  CUresult result = cuMemsetD8Async(block, 0, 64, nullptr);
  asm volatile("" ::: "memory");
  return result;
}
__attribute__((noipa)) void Left(CUdeviceptr block) {
  OK(Innermost(block));
  asm volatile("" ::: "memory");
}
__attribute__((noipa)) void Right(CUdeviceptr block) {
  OK(Innermost(block));
  asm volatile("" ::: "memory");
}

// The same innermost call from two callers of equal frames, many times.
int Stacks() {
  Start();
  CUdeviceptr block;
  OK(cuMemAlloc(&block, 4096));
  for (int i = 0; i < 50; ++i) i % 2 ? Left(block) : Right(block);
  printf("left %p\nright %p\n", reinterpret_cast<void*>(Left), reinterpret_cast<void*>(Right));
  return 0;
}

int Annotations() {
  CUcontext context = Start();
  (void)context;
  CUstream stream;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  static char memory[4096];
  streamsan_buffer(memory, 64, "ring buffer");
  streamsan_kernel_access(memory, 8, STREAMSAN_READ_WRITE);
  streamsan_access(stream, memory, 32, STREAMSAN_WRITE);
  streamsan_host_access(memory, 16, STREAMSAN_READ);
  streamsan_release(memory);
  streamsan_acquire(memory);
  streamsan_pool_alloc(&memory[1], &memory[8], 24, stream);
  streamsan_pool_record_use(&memory[1], &memory[8], nullptr);
  streamsan_pool_free(&memory[1], &memory[8]);
  streamsan_host_pool_alloc(&memory[2], &memory[64], 32);
  std::thread([] { streamsan_pool_alloc(&memory[1], &memory[128], 8, nullptr); }).join();
  streamsan_fill(nullptr, memory, 48);
  streamsan_device_flag(memory, 4);
  CUevent event;
  OK(cuEventCreate(&event, 0));
  streamsan_pool_enter(memory);
  OK(cuEventQuery(event));
  OK(cuStreamQuery(stream));
  streamsan_pool_leave(memory);
  streamsan_pool_leave(memory);  // one too many must not count
  OK(cuEventQuery(event));
  OK(cuStreamQuery(stream));
  streamsan_stream_name(stream, "comm");
  streamsan_thread_name("loader");
  OK(cuLaunchHostFunc(
      stream, [](void* data) { streamsan_host_access(data, 8, STREAMSAN_WRITE); }, memory));
  OK(cuStreamSynchronize(stream));
  streamsan_host_access(memory, 1, STREAMSAN_READ);
  printf("memory %p\nstream %p\n", static_cast<void*>(memory), static_cast<void*>(stream));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  unsigned count = argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : 0;
  if (!strcmp(mode, "idle")) return Idle();
  if (!strcmp(mode, "sets")) return Start(), Sets(count);
  if (!strcmp(mode, "_exit")) return UnderscoreExit();
  if (!strcmp(mode, "kill")) return Kill();
  if (!strcmp(mode, "kill_late")) return KillLate();
  if (!strcmp(mode, "fork")) return Fork();
  if (!strcmp(mode, "fork_quiet")) return ForkQuiet();
  if (!strcmp(mode, "fork_first")) return ForkFirst();
  if (!strcmp(mode, "threads")) return Threads();
  if (!strcmp(mode, "loop")) return Loop(count);
  if (!strcmp(mode, "private")) return Private();
  if (!strcmp(mode, "late")) return Late();
  if (!strcmp(mode, "stacks")) return Stacks();
  if (!strcmp(mode, "annotations")) return Annotations();
  fprintf(stderr, "unknown mode '%s'\n", mode);
  return 2;
}
