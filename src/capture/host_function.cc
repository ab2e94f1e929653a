// Host functions: wrapped, so that accesses that the program reports from inside carry the token of
// the call that queued them.
#include <sched.h>
#include <sys/mman.h>

#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

struct Wrapped {
  Wrapped* next;
  void (*function)();
  void* data;
  uint64_t token;
};

constexpr size_t kChunk = 256;

std::atomic<uint64_t> g_next_token{1};
std::atomic_flag g_pool_lock;
Wrapped* g_pool;

// A spin lock: held for a few instructions, also from the driver's own threads.
struct PoolLock {
  PoolLock() {
    while (g_pool_lock.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~PoolLock() { g_pool_lock.clear(std::memory_order_release); }
};

void Refill() {
  void* memory = mmap(nullptr, kChunk * sizeof(Wrapped), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* nodes = static_cast<Wrapped*>(memory);
  for (size_t i = 0; i < kChunk; ++i) {
    nodes[i].next = g_pool;
    g_pool = &nodes[i];
  }
}

Wrapped* Take() {
  PoolLock lock;
  if (!g_pool) Refill();
  Wrapped* node = g_pool;
  if (node) g_pool = node->next;
  return node;
}

void Give(Wrapped* node) {
  PoolLock lock;
  node->next = g_pool;
  g_pool = node;
}

// Runs once: what a graph runs again and again has wrappers that stay.
Wrapped Unwrap(void* opaque) {
  auto* node = static_cast<Wrapped*>(opaque);
  Wrapped copy = *node;
  Give(node);
  return copy;
}

void SetToken(uint64_t token) {
  Thread* thread = CurrentThread();
  if (thread) thread->host_token = token;
}

void CUDA_CB RunHostFunction(void* opaque) {
  Wrapped wrapped = Unwrap(opaque);
  SetToken(wrapped.token);
  reinterpret_cast<CUhostFn>(wrapped.function)(wrapped.data);
  SetToken(0);
}

void CUDA_CB RunAgain(void* opaque) {
  const Wrapped& wrapped = *static_cast<Wrapped*>(opaque);
  SetToken(wrapped.token);
  reinterpret_cast<CUhostFn>(wrapped.function)(wrapped.data);
  SetToken(0);
}

void CUDA_CB RunCallback(CUstream stream, CUresult status, void* opaque) {
  Wrapped wrapped = Unwrap(opaque);
  SetToken(wrapped.token);
  reinterpret_cast<CUstreamCallback>(wrapped.function)(stream, status, wrapped.data);
  SetToken(0);
}

template <class Function>
Wrapped* Wrap(Function function, void* data) {
  Wrapped* node = function ? Take() : nullptr;
  if (!node) return nullptr;
  node->function = reinterpret_cast<void (*)()>(function);
  node->data = data;
  node->token = g_next_token.fetch_add(1);
  return node;
}

template <class Function, class... More>
CUresult Queue(Call& call, CUstream stream, Function function, Function runner, void* data,
               More... more) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  Wrapped* node = Wrap(function, data);
  uint64_t token = node ? node->token : 0;
  CUresult result = node ? call.Forward(stream, runner, static_cast<void*>(node), more...)
                         : call.Forward(stream, function, data, more...);
  if (node && result != CUDA_SUCCESS) Give(node);  // it will not run
  call.Emit(trace::view::HostFunction{.stream = handle,
                                      .context = context,
                                      .function = reinterpret_cast<uint64_t>(function),
                                      .token = token,
                                      .result = result,
                                      .stack = stack,
                                      .graph_node = NodeOf(handle)});
  return result;
}

}  // namespace

HostWork PrepareHost(CUhostFn function, void* data) {
  Wrapped* node = Wrap(function, data);
  if (!node) return {function, function, data, 0};
  return {function, &RunAgain, node, node->token};
}

void UnwrapHost(CUhostFn* function, void** data) {
  if (*function != &RunAgain) return;
  const Wrapped& wrapped = *static_cast<Wrapped*>(*data);
  *function = reinterpret_cast<CUhostFn>(wrapped.function);
  *data = wrapped.data;
}

CUresult LaunchHostFunc(Call& call, CUstream stream, CUhostFn function, void* data) {
  bool again = IsCapturing(call.Stream(stream));
  return Queue(call, stream, function, again ? &RunAgain : &RunHostFunction, data);
}

CUresult StreamAddCallback(Call& call, CUstream stream, CUstreamCallback callback, void* data,
                           unsigned flags) {
  return Queue(call, stream, callback, &RunCallback, data, flags);
}

}  // namespace ss::capture
