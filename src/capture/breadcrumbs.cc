#include "src/capture/breadcrumbs.h"

#include <cuda.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "src/capture/driver.h"
#include "src/trace/crumbs.h"

namespace ss::capture {
namespace {

constexpr uint64_t kPerThread = 2;  // the resolved handle

struct Key {
  uint64_t stream, context, thread;
  bool operator==(const Key& other) const {
    return stream == other.stream && context == other.context && thread == other.thread;
  }
};

trace::CrumbTable* g_table;  // null: off
std::atomic<bool> g_on;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;  // the keys; never around a call that may block
Key g_keys[trace::kCrumbSlots];                      // in step with the table's slots
std::atomic_flag g_busy[trace::kCrumbSlots];         // held while a mark is queued
uint64_t g_device;         // the table, as the GPU addresses it; 0 = not registered yet
uint64_t g_registered_in;  // context
bool g_refused;

using WriteValue = CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
WriteValue TheWriteValue() {
  static std::atomic<void*> found{nullptr};
  void* function = found.load(std::memory_order_acquire);
  if (!function) {
    function = DriverFunction("cuStreamWriteValue64_v2");
    found.store(function, std::memory_order_release);
  }
  return reinterpret_cast<WriteValue>(function);
}

// Registering memory would invalidate a capture that another thread has under way.
class Relaxed {
 public:
  Relaxed() : exchange_(Find()) {
    if (exchange_) exchange_(&mode_);
  }
  ~Relaxed() {
    if (exchange_) exchange_(&mode_);
  }

 private:
  using Exchange = CUresult (*)(CUstreamCaptureMode*);
  static Exchange Find() {
    return reinterpret_cast<Exchange>(DriverFunction("cuThreadExchangeStreamCaptureMode"));
  }
  Exchange exchange_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

bool Register(uint64_t context) {
  if (g_device || g_refused) return g_device != 0;
  auto add = reinterpret_cast<CUresult (*)(void*, size_t, unsigned)>(
      DriverFunction("cuMemHostRegister_v2"));
  auto address = reinterpret_cast<CUresult (*)(CUdeviceptr*, void*, unsigned)>(
      DriverFunction("cuMemHostGetDevicePointer_v2"));
  const Relaxed relaxed;
  CUdeviceptr device = 0;
  if (add && address && TheWriteValue() &&
      add(g_table, sizeof *g_table, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) ==
          CUDA_SUCCESS &&
      address(&device, g_table, 0) == CUDA_SUCCESS) {
    g_device = device;
    g_registered_in = context;
  }
  g_refused = g_device == 0;
  return g_device != 0;
}

// A slot of its own; one of a stream that is gone where there is no new one. Negative: none.
int FindSlot(const Key& key) {
  const auto used = static_cast<int>(g_table->used.load(std::memory_order_relaxed));
  int spare = -1;
  for (int i = 0; i < used; ++i) {
    if (g_keys[i] == key) return i;
    if (g_keys[i].stream == 0 && spare < 0) spare = i;
  }
  if (used < static_cast<int>(trace::kCrumbSlots)) {
    g_keys[used] = key;
    g_table->used.store(static_cast<uint32_t>(used) + 1, std::memory_order_release);
    return used;
  }
  if (spare < 0) return -1;
  g_keys[spare] = key;
  for (std::atomic<uint64_t>* number :
       {&g_table->slots[spare].first, &g_table->slots[spare].queued, &g_table->slots[spare].done})
    number->store(0);
  return spare;
}

int SlotOf(uint64_t stream, uint64_t context) {
  const uint64_t thread =
      stream == kPerThread ? static_cast<uint64_t>(syscall(SYS_gettid)) : uint64_t{0};
  pthread_mutex_lock(&g_lock);
  const int slot = Register(context) ? FindSlot({stream, context, thread}) : -1;
  pthread_mutex_unlock(&g_lock);
  return slot;
}

}  // namespace

bool BreadcrumbsOn() { return g_on.load(std::memory_order_acquire); }

void OpenBreadcrumbs(trace::RingClient& client) {
  const char* wanted = getenv("STREAMSAN_BREADCRUMBS");
  if (!wanted || strcmp(wanted, "1") != 0) return;
  const int fd = trace::CreateSharedMemory("streamsan-breadcrumbs", sizeof(trace::CrumbTable));
  if (fd < 0) return;
  void* table = trace::MapShared(fd, sizeof(trace::CrumbTable));
  if (table) {
    trace::KeepFromChildren(table, sizeof(trace::CrumbTable));
    g_table = static_cast<trace::CrumbTable*>(table);
    g_table->magic = trace::kCrumbMagic;
    g_on.store(client.SendCrumbs(fd), std::memory_order_release);
  }
  close(fd);
}

// Marks of one stream are queued one at a time, so that their numbers rise.
void LeaveBreadcrumb(uint64_t stream, uint64_t context, uint64_t number) {
  const int index = SlotOf(stream, context);
  if (index < 0) {
    g_table->unmarked.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  trace::CrumbSlot& slot = g_table->slots[index];
  while (g_busy[index].test_and_set(std::memory_order_acquire)) sched_yield();
  if (slot.queued.load(std::memory_order_relaxed) < number) slot.queued.store(number);
  if (slot.first.load(std::memory_order_relaxed) == 0) slot.first.store(number);
  const uint64_t target =
      g_device + (reinterpret_cast<uint64_t>(&slot.done) - reinterpret_cast<uint64_t>(g_table));
  // No memory barrier: the mark must not make writes visible that would not be without it.
  const CUresult result =
      TheWriteValue()(reinterpret_cast<CUstream>(stream), target, slot.queued.load(),
                      CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
  if (result != CUDA_SUCCESS) g_table->unmarked.fetch_add(1, std::memory_order_relaxed);
  g_busy[index].clear(std::memory_order_release);
}

void EndBreadcrumbs(uint64_t stream) {
  if (!BreadcrumbsOn()) return;
  pthread_mutex_lock(&g_lock);
  for (uint32_t i = 0; i < g_table->used.load(std::memory_order_relaxed); ++i) {
    if (g_keys[i].stream == stream) g_keys[i] = {};
  }
  pthread_mutex_unlock(&g_lock);
}

void BreadcrumbContextGoes(uint64_t context) {
  if (!BreadcrumbsOn()) return;
  pthread_mutex_lock(&g_lock);
  if (g_registered_in == context) g_device = 0, g_refused = true;
  pthread_mutex_unlock(&g_lock);
}

void ResetBreadcrumbs() {
  g_on.store(false);
  g_table = nullptr;
  g_device = g_registered_in = 0;
  g_refused = false;
  memset(g_keys, 0, sizeof g_keys);
  for (std::atomic_flag& busy : g_busy) busy.clear();
  g_lock = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace ss::capture
