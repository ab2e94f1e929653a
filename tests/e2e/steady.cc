// A driver-API program that says how far it got: after each call that returned it stores the number
// of calls in a file that the test maps. Its n-th memset sets n bytes, so that a trace tells which
// calls it holds. Two streams, ordered by an event: no hazard.
//
//   steady PROGRESS CALLS HOW     HOW: exit | _exit | abort | fork | exec | sleep
#include "tests/e2e/steady.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace ss::e2e {
namespace {

constexpr size_t kBufferBytes = 64 << 20;
constexpr int kExitCode = 7;

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "steady: %s: %d\n", what, result);
  std::exit(9);
}
#define CHECK(call) Check(call, #call)

struct Device {
  CUstream first, second;
  CUevent event;
  CUdeviceptr buffer;
};

Device Open() {
  Device device{};
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&device.first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&device.second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&device.event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&device.buffer, kBufferBytes));
  return device;
}

// An even call is on one stream, an odd one on the other; each waits for the one before.
void Call(const Device& device, uint64_t n) {
  CUstream from = n % 2 ? device.first : device.second;
  CUstream to = n % 2 ? device.second : device.first;
  CHECK(cuEventRecord(device.event, from));
  CHECK(cuStreamWaitEvent(to, device.event, 0));
  CHECK(cuMemsetD8Async(device.buffer, static_cast<unsigned char>(n), n, to));
  if (n % 64 == 0) CHECK(cuStreamSynchronize(to));
}

void Calls(Progress* progress, uint64_t from, uint64_t count) {
  Device device = Open();
  for (uint64_t n = from; n < from + count; ++n) {
    Call(device, n);
    progress->calls.store(n, std::memory_order_release);
  }
  CHECK(cuCtxSynchronize());
}

// The child uses the driver for itself, as the program's image anew.
void ForkAndExec(char** argv) {
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "steady", argv[1], argv[2], "exit", nullptr);
    _exit(126);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kExitCode) std::exit(9);
}

int Main(int argc, char** argv) {
  if (argc != 4) return 2;
  int file = open(argv[1], O_RDWR);
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || memory == MAP_FAILED) return 2;
  auto* progress = static_cast<Progress*>(memory);
  uint64_t count = std::strtoull(argv[2], nullptr, 10);
  std::string how = argv[3];
  progress->pid.store(getpid());
  Calls(progress, 1, count);
  if (how == "fork") ForkAndExec(argv);
  if (how == "exec") execl("/proc/self/exe", "steady", argv[1], argv[2], "exit", nullptr);
  if (how == "forkonly" && fork() == 0) std::exit(3);
  progress->ended.fetch_add(1);
  if (how == "_exit") _exit(kExitCode);
  if (how == "abort") std::abort();
  return kExitCode;
}

}  // namespace
}  // namespace ss::e2e

int main(int argc, char** argv) { return ss::e2e::Main(argc, argv); }
