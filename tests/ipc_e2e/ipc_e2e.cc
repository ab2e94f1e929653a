// ipc_e2e CASE WAY: two processes that share memory, and tell each other by a pipe. Each case has
// an owner, which gives a buffer away, and a user, which opens it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/graphs_e2e/gpu.h"
#include "vgpu/kernel.h"

VGPU_KERNEL(fill, (uint32_t * to, uint32_t value, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = value;
}
VGPU_KERNEL(move, (uint32_t * to, const uint32_t* from, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = from[i];
}
const void* Image() { return vgpu::Image(); }

namespace {

class Link {
 public:
  Link(int in, int out) : in_(in), out_(out) {}
  template <typename T>
  void Send(const T& value) const {
    if (write(out_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::exit(3);
  }
  template <typename T>
  T Receive() const {
    T value;
    auto* to = reinterpret_cast<char*>(&value);
    for (size_t got = 0; got < sizeof value;) {
      const ssize_t more = read(in_, to + got, sizeof value - got);
      if (more <= 0) std::exit(3);
      got += static_cast<size_t>(more);
    }
    return value;
  }
  void Tell() const { Send('x'); }
  void Hear() const { Receive<char>(); }

 private:
  int in_, out_;
};

void Give(const Link& link, CUdeviceptr buffer) {
  CUipcMemHandle handle;
  CU(cuIpcGetMemHandle(&handle, buffer));
  link.Send(handle);
}
CUdeviceptr Open(const Link& link) {
  CUdeviceptr at;
  CU(cuIpcOpenMemHandle(&at, link.Receive<CUipcMemHandle>(), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return at;
}
CUevent GiveEvent(const Link& link) {
  CUevent event;
  CUipcEventHandle handle;
  CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  CU(cuIpcGetEventHandle(&handle, event));
  link.Send(handle);
  return event;
}
CUevent OpenEvent(const Link& link) {
  CUevent event;
  CU(cuIpcOpenEventHandle(&event, link.Receive<CUipcEventHandle>()));
  return event;
}

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

struct Case {
  const char* name;
  bool (*owner)(const Gpu&, const Link&, Way);
  bool (*user)(const Gpu&, const Link&, Way);
};
constexpr Case kCases[] = {{"read", ReadOwner, ReadUser},
                           {"write", WriteOwner, WriteUser},
                           {"through", ThroughOwner, ThroughUser},
                           {"told", ToldOwner, ToldUser},
                           {"freed", FreedOwner, FreedUser}};

Way WayOf(const std::string& word) {
  return word == "racy" ? Way::kRacy : word == "fixed" ? Way::kFixed : Way::kLookalike;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 4;
  for (const Case& one : kCases) {
    if (std::strcmp(one.name, argv[1]) != 0) continue;
    const Way way = WayOf(argv[2]);
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) return 4;
    const pid_t child = fork();
    const bool user = child == 0;
    const bool good = user ? one.user(Gpu(), Link(down[0], up[1]), way)
                           : one.owner(Gpu(), Link(up[0], down[1]), way);
    if (user) return good ? 0 : 1;
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return 5;
    std::printf("result %s\n", good && WEXITSTATUS(status) == 0 ? "good" : "bad");
    return 0;
  }
  return 4;
}
