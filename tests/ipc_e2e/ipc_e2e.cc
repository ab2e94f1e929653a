// ipc_e2e CASE WAY: two processes that share memory, and tell each other over a socket. Each case
// has an owner, which gives a buffer away, and a user, which opens it.
#include <sys/wait.h>

#include <cstring>
#include <string>

#include "cases.h"

VGPU_KERNEL(fill, (uint32_t * to, uint32_t value, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = value;
}
VGPU_KERNEL(move, (uint32_t * to, const uint32_t* from, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = from[i];
}
// They wait for each other's word in memory that both have.
VGPU_KERNEL(post, (uint32_t * flag)) {
  if (vgpu_thread() == 0) __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}
VGPU_KERNEL(await, (uint32_t * flag)) {
  while (vgpu_thread() == 0 && __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) usleep(100);
}
const void* Image() { return vgpu::Image(); }

namespace {

// The owner fills, the user reads, and waits for the owner's event. Lookalike: both read.
bool ReadOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  if (way == Way::kLookalike) gpu.Fill(s, a, 1);
  CU(cuStreamSynchronize(s));
  Give(link, a);
  CUevent filled = GiveEvent(link);
  if (way == Way::kLookalike) {
    gpu.Move(s, b, a);
  } else {
    gpu.Fill(s, a, 1);
  }
  CU(cuEventRecord(filled, s));
  link.Tell();
  link.Hear();
  return gpu.Holds(a, 1);
}
bool ReadUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUdeviceptr c = gpu.Buffer("c"), a = Open(link);
  CUevent filled = OpenEvent(link);
  link.Hear();
  if (way == Way::kFixed) CU(cuStreamWaitEvent(t, filled, 0));
  gpu.Move(t, c, a);
  const bool good = gpu.Holds(c, 1);
  CU(cuIpcCloseMemHandle(a));
  link.Tell();
  return good;
}

// The user writes and records the owner's event; the owner reads. Lookalike: it does not.
bool WriteOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("consumer");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  Give(link, a);
  CUevent written = GiveEvent(link);
  link.Hear();
  if (way == Way::kFixed) CU(cuStreamWaitEvent(s, written, 0));
  gpu.Move(s, b, way == Way::kLookalike ? b : a);
  const bool good = way == Way::kLookalike || gpu.Holds(b, 1);
  link.Tell();
  link.Hear();
  return good;
}
bool WriteUser(const Gpu& gpu, const Link& link, Way) {
  CUstream t = gpu.Stream("producer");
  CUdeviceptr a = Open(link);
  CUevent written = OpenEvent(link);
  gpu.Fill(t, a, 1);
  CU(cuEventRecord(written, t));
  link.Tell();
  link.Hear();
  CU(cuStreamSynchronize(t));
  CU(cuIpcCloseMemHandle(a));
  link.Tell();
  return true;
}

// The owner's second stream comes after its first one only by way of the user, whose stream waits
// for the one and is waited for by the other. Racy: the user records without a wait of its own.
bool ThroughOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("first"), t = gpu.Stream("second");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), c = gpu.Buffer("c");
  Give(link, a);
  CUevent there = GiveEvent(link), back = GiveEvent(link);
  gpu.Fill(s, way == Way::kLookalike ? c : a, 1);
  CU(cuEventRecord(there, s));
  link.Tell();
  link.Hear();
  CU(cuStreamWaitEvent(t, back, 0));
  gpu.Move(t, b, a);
  const bool good = gpu.Holds(b, way == Way::kLookalike ? 0 : 1);
  link.Tell();
  return good;
}
bool ThroughUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream u = gpu.Stream("between");
  CUdeviceptr a = Open(link);
  CUevent there = OpenEvent(link), back = OpenEvent(link);
  link.Hear();
  if (way == Way::kFixed) CU(cuStreamWaitEvent(u, there, 0));
  CU(cuEventRecord(back, u));
  CU(cuStreamSynchronize(u));
  link.Tell();
  link.Hear();
  CU(cuIpcCloseMemHandle(a));
  return true;
}

// No event: the owner waits for its work, then tells the user. Racy: it tells it first. Lookalike:
// the user waits for word, and only then issues; what it reads is another buffer.
bool ToldOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  CUdeviceptr a = gpu.Buffer("a"), other = gpu.Buffer("other");
  Give(link, way == Way::kLookalike ? other : a);
  gpu.Fill(s, a, 1);
  if (way == Way::kFixed) CU(cuStreamSynchronize(s));
  link.Tell();
  link.Hear();
  CU(cuStreamSynchronize(s));
  return gpu.Holds(a, 1);
}
bool ToldUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUdeviceptr c = gpu.Buffer("c"), a = Open(link);
  link.Hear();
  gpu.Move(t, c, a);
  const bool good = gpu.Holds(c, way == Way::kLookalike ? 0 : 1);
  CU(cuIpcCloseMemHandle(a));
  link.Tell();
  return good;
}

// The owner frees what the user reads. Fixed: the user has waited for its work before it tells the
// owner to. Lookalike: what it frees is another buffer.
bool FreedOwner(const Gpu& gpu, const Link& link, Way way) {
  CUdeviceptr a = gpu.Buffer("a"), other = gpu.Buffer("other");
  Give(link, a);
  link.Hear();
  CU(cuMemFree(way == Way::kLookalike ? other : a));
  link.Tell();
  link.Hear();
  return true;
}
bool FreedUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUdeviceptr c = gpu.Buffer("c"), a = Open(link);
  gpu.Move(t, c, a);
  if (way == Way::kFixed) CU(cuStreamSynchronize(t));
  link.Tell();
  link.Hear();
  CU(cuStreamSynchronize(t));
  CU(cuIpcCloseMemHandle(a));
  link.Tell();
  return true;
}

// The user reads, and ends without having waited; the owner writes once the user is gone. Racy: it
// writes when the user tells it to. Lookalike: what it writes then is another buffer.
bool EndedOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  CUdeviceptr a = gpu.Buffer("a"), other = gpu.Buffer("other");
  gpu.Fill(s, a, 1);
  CU(cuStreamSynchronize(s));
  Give(link, a);
  way == Way::kFixed ? link.HearTheEnd() : link.Hear();
  gpu.Fill(s, way == Way::kLookalike ? other : a, 2);
  CU(cuStreamSynchronize(s));
  if (way != Way::kFixed) link.Tell();
  return true;
}
bool EndedUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUdeviceptr c = gpu.Buffer("c"), a = Open(link);
  gpu.Move(t, c, a);
  if (way == Way::kFixed) return true;
  link.Tell();
  link.Hear();
  return gpu.Holds(c, 1);
}

// The user's kernel waits for word of the owner's in memory: what they order is taken to be
// possibly right. Racy: the user's does not wait. Lookalike: nor need it, it reads another buffer.
void Signal(const Gpu& gpu, CUstream stream, const char* kernel, CUdeviceptr flag) {
  CUfunction function;
  CU(cuModuleGetFunction(&function, gpu.module, kernel));
  streamsan_kernel_access(function, 0, STREAMSAN_ATOMIC);
  streamsan_device_flag(reinterpret_cast<void*>(flag), sizeof(uint32_t));
  void* arguments[] = {&flag};
  CU(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
}
bool PostedOwner(const Gpu& gpu, const Link& link, Way way) {
  CUstream s = gpu.Stream("producer");
  CUdeviceptr a = gpu.Buffer("a"), other = gpu.Buffer("other"), flag = gpu.Buffer("flag");
  Give(link, a);
  Give(link, flag);
  gpu.Fill(s, way == Way::kLookalike ? other : a, 1);
  Signal(gpu, s, "post", flag);
  link.Tell();
  link.Hear();
  CU(cuStreamSynchronize(s));
  return true;
}
bool PostedUser(const Gpu& gpu, const Link& link, Way way) {
  CUstream t = gpu.Stream("consumer");
  CUdeviceptr c = gpu.Buffer("c"), a = Open(link), flag = Open(link);
  link.Hear();
  if (way == Way::kFixed) Signal(gpu, t, "await", flag);
  gpu.Move(t, c, a);
  const bool good = gpu.Holds(c, way == Way::kLookalike ? 0 : 1);
  CU(cuIpcCloseMemHandle(a));
  CU(cuIpcCloseMemHandle(flag));
  link.Tell();
  return good;
}

struct Case {
  const char* name;
  bool (*owner)(const Gpu&, const Link&, Way);
  bool (*user)(const Gpu&, const Link&, Way);
};
constexpr Case kCases[] = {
    {"read", ReadOwner, ReadUser},          {"write", WriteOwner, WriteUser},
    {"through", ThroughOwner, ThroughUser}, {"told", ToldOwner, ToldUser},
    {"freed", FreedOwner, FreedUser},       {"posted", PostedOwner, PostedUser},
    {"ended", EndedOwner, EndedUser},       {"mapped", MappedOwner, MappedUser},
    {"pieces", PiecesOwner, PiecesUser},    {"unmapped", UnmappedOwner, UnmappedUser},
    {"pool", PoolOwner, PoolUser},          {"returned", ReturnedOwner, ReturnedUser}};

Way WayOf(const std::string& word) {
  return word == "racy" ? Way::kRacy : word == "fixed" ? Way::kFixed : Way::kLookalike;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 4;
  for (const Case& one : kCases) {
    if (std::strcmp(one.name, argv[1]) != 0) continue;
    const Way way = WayOf(argv[2]);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 4;
    const pid_t child = fork();
    const bool user = child == 0;
    close(ends[user ? 0 : 1]);
    const Link link(ends[user ? 1 : 0]);
    const bool good = user ? one.user(Gpu(), link, way) : one.owner(Gpu(), link, way);
    if (user) return good ? 0 : 1;
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return 5;
    std::printf("result %s\n", good && WEXITSTATUS(status) == 0 ? "good" : "bad");
    return 0;
  }
  return 4;
}
