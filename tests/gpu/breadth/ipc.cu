// Two processes share a buffer and an event: the parent fills the buffer and records, the child
// waits for the event, or does not in `racy`, and reads.
#include <sys/wait.h>
#include <unistd.h>

#include "breadth.h"
struct Shared {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event;
};
static void Read(int fd, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes) {
    ssize_t got = read(fd, at, bytes);
    if (got <= 0) std::exit(5);
    at += got;
    bytes -= static_cast<size_t>(got);
  }
}
static int Child(int in, int out, bool racy) {
  Shared shared;
  Read(in, &shared, sizeof shared);
  cudaStream_t t = MakeStream();
  cudaEvent_t filled;
  void* memory;
  OK(cudaIpcOpenMemHandle(&memory, shared.memory, cudaIpcMemLazyEnablePeerAccess));
  OK(cudaIpcOpenEventHandle(&filled, shared.event));
  float* b = Device();
  char go;
  Read(in, &go, 1);
  if (!racy) OK(cudaStreamWaitEvent(t, filled));
  Copy<<<64, 256, 0, t>>>(b, static_cast<float*>(memory), kCount);
  OK(cudaStreamSynchronize(t));
  OK(cudaIpcCloseMemHandle(memory));
  if (write(out, "d", 1) != 1) return 6;
  return 0;
}
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  int down[2], up[2];
  if (pipe(down) || pipe(up)) return 7;
  pid_t child = fork();
  if (child == 0) return Child(down[0], up[1], racy);
  cudaStream_t s = MakeStream();
  float* a = Device();
  Shared shared;
  cudaEvent_t filled;
  OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
  OK(cudaIpcGetMemHandle(&shared.memory, a));
  OK(cudaIpcGetEventHandle(&shared.event, filled));
  if (write(down[1], &shared, sizeof shared) != sizeof shared) return 8;
  Fill<<<64, 256, 0, s>>>(a, 1, kCount);
  OK(cudaEventRecord(filled, s));
  if (write(down[1], "g", 1) != 1) return 8;
  char done;
  Read(up[0], &done, 1);
  int status = 0;
  waitpid(child, &status, 0);
  OK(cudaStreamSynchronize(s));
  OK(cudaFree(a));
  std::puts(status == 0 ? "ok" : "child failed");
  return status == 0 ? 0 : 9;
}
