#include "src/capture/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "src/capture/breadcrumbs.h"
#include "src/capture/counts.h"
#include "src/capture/driver.h"
#include "src/capture/handlers.h"
#include "src/capture/image_table.h"
#include "src/capture/intern.h"
#include "src/capture/modules.h"
#include "src/capture/nccl.h"
#include "src/capture/nccl_plugin.h"
#include "src/capture/ranges.h"
#include "src/capture/stack.h"
#include "src/capture/trial.h"
#include "src/trace/ring_protocol.h"

namespace ss::capture {

[[gnu::tls_model("initial-exec")]] thread_local streamsan_context t_context;
std::atomic<void (*)(streamsan_context*)> g_refresh_context;
std::atomic<bool> g_shares;

namespace {

enum State : int {
  kCold,     // the environment has not been read
  kPassive,  // nothing to do in this process, ever
  kIdle,     // waiting for the program to initialise the driver
  kOpen,
};

std::atomic<int> g_state{kCold};
pthread_mutex_t g_lock =
    PTHREAD_MUTEX_INITIALIZER;  // opening and reopening; never around driver calls
trace::RingClient* g_client;
Options g_options;
pthread_key_t g_key;
bool g_prepared;  // key, exit handler and tables exist
std::atomic<bool> g_paused{false};
std::atomic<bool> g_exiting;

[[gnu::tls_model("initial-exec")]] thread_local Thread* t_thread;
[[gnu::tls_model(
    "initial-exec")]] thread_local bool t_busy;  // opening: our own calls are not looked at

constexpr char kName[] = "StreamSan";

void Say(const char* message) {
  char line[256];
  size_t size = 0;
  for (const char* part : {kName, ": ", message, "\n"}) {
    size_t length = strlen(part);
    if (size + length > sizeof line) break;
    memcpy(line + size, part, length);
    size += length;
  }
  ssize_t written = write(STDERR_FILENO, line, size);
  (void)written;
}

int64_t Rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const char* value = getenv(name);
    if (value && *value >= '0' && *value <= '9') return strtoll(value, nullptr, 10);
  }
  return -1;
}

// --- threads

constexpr size_t kThreadBytes = 4096;
constexpr size_t kThreadMapping =
    kThreadBytes + trace::kMaxRecord + sizeof(uint64_t) * 2 * kMaxWords;
static_assert(sizeof(Thread) <= kThreadBytes);

void FindStack(Thread* thread) {
  pthread_attr_t attributes;
  void* base = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  thread->stack_low = reinterpret_cast<uintptr_t>(base);
  thread->stack_high = thread->stack_low + size;
}

void Dispose(Thread* thread) {
  StackCache::Delete(thread->stack_cache);
  munmap(thread, kThreadMapping);
}

void OnThreadExit(void* opaque) {
  auto* thread = static_cast<Thread*>(opaque);
  t_thread = nullptr;
  if (thread->ring->alive()) {
    NoteCountedCalls(*thread, true);
    Note(*thread, trace::view::ThreadEnd{});
  }
  thread->ring->Destroy();
  Dispose(thread);
}

void IntroduceThread(Thread& thread) {
  char name[17] = {};
  prctl(PR_GET_NAME, name);
  auto tid = static_cast<uint64_t>(syscall(SYS_gettid));
  Note(thread, trace::view::Thread{.os_tid = tid, .name = trace::view::Bytes(name)});
}

Thread* NewThread() {
  void* memory =
      mmap(nullptr, kThreadMapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* thread = static_cast<Thread*>(memory);
  thread->record = static_cast<uint8_t*>(memory) + kThreadBytes;
  thread->words = reinterpret_cast<uint64_t*>(thread->record + trace::kMaxRecord);
  thread->ring = g_client->NewRing();
  if (!thread->ring) {
    munmap(memory, kThreadMapping);
    return nullptr;
  }
  thread->stack_cache = g_options.stacks ? StackCache::New() : nullptr;
  FindStack(thread);
  pthread_setspecific(g_key, thread);
  t_thread = thread;
  return thread;
}

// --- the process

trace::view::Bytes CommandLine(char* buffer, size_t capacity) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  ssize_t size = read(fd, buffer, capacity);
  close(fd);
  return {buffer, size > 0 ? static_cast<size_t>(size) : 0};
}

void IntroduceProcess(Thread& thread, bool late) {
  char command[4096];
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  int version = 0;
  if (DriverLoaded() && TheDriver().driver_get_version) TheDriver().driver_get_version(&version);
  Note(thread, trace::view::Process{.pid = static_cast<uint64_t>(getpid()),
                                    .parent = static_cast<uint64_t>(getppid()),
                                    .start_ns = static_cast<uint64_t>(now.tv_sec) * 1000000000 +
                                                static_cast<uint64_t>(now.tv_nsec),
                                    .command = CommandLine(command, sizeof command),
                                    .rank = Rank(),
                                    .late = late,
                                    .driver_version = static_cast<uint64_t>(version)});
}

// A forked child that runs the exit handlers without having used the driver itself says nothing.
Thread* ThreadAtExit() { return g_client && g_client->alive() ? CurrentThread() : nullptr; }

void OnExit() {
  Thread* thread = ThreadAtExit();
  if (!thread || g_exiting.exchange(true)) return;
  EndTrial(*thread);
  NoteCountedCalls(*thread, true);
  NoteCounters(*thread);
  Note(*thread, trace::view::ProcessEnd{});
}

// Destructors of the program's libraries still call the driver after OnExit.
[[gnu::destructor]] void OnUnload() {
  Thread* thread = g_exiting.load() ? ThreadAtExit() : nullptr;
  if (!thread) return;
  NoteCountedCalls(*thread, true);
  NoteCounters(*thread);
}

void ReadEnvironment() {
  const char* socket = getenv(trace::kSocketVariable);
  if (!socket || !*socket) return g_state.store(kPassive);
  g_options = ParseOptions(getenv("STREAMSAN_OPTIONS"));
  ReadTrial(getenv(trace::kTrialVariable));
  g_state.store(g_options.disable ? kPassive : kIdle, std::memory_order_release);
}

bool Prepare() {
  if (g_prepared) return true;
  g_prepared = pthread_key_create(&g_key, OnThreadExit) == 0 && InitInterning() && InitModules() &&
               InitStacks() && InitImages() && InitTensorMaps() && InitGreens() && InitShareable();
  if (g_prepared) atexit(OnExit);
  return g_prepared;
}

Thread* OpenLocked(bool late) {
  trace::RingOptions ring;
  if (g_options.ring_bytes) ring.ring_bytes = g_options.ring_bytes;
  ring.on_full = g_options.drop_when_full ? trace::OnFull::kDrop : trace::OnFull::kBlock;
  ring.rank = Rank();
  g_client = Prepare() ? trace::RingClient::Connect(getenv(trace::kSocketVariable), ring) : nullptr;
  if (g_client) OpenBreadcrumbs(*g_client);  // before any ring: records come behind it
  Thread* thread = g_client ? NewThread() : nullptr;
  if (!thread) {
    Say(errno == EFBIG
            ? "the limit on file sizes (ulimit -f) leaves no room for records: this process "
              "runs unwatched"
            : "the collector cannot be reached: this process runs unwatched");
    if (g_client)
      g_client->CountLost(1);  // the collector knows of us: it must not say "nothing to report"
    g_state.store(kPassive, std::memory_order_release);
    return nullptr;
  }
  IntroduceProcess(*thread, late);
  IntroduceThread(*thread);
  NoteModules(*thread);
  g_state.store(kOpen, std::memory_order_release);
  return thread;
}

// What the parent had is the parent's: its rings are wiped from our memory, ids start again.
void ForgetParent() {
  if (t_thread) {
    Dispose(t_thread);
    pthread_setspecific(g_key, nullptr);
    t_thread = nullptr;
  }
  ResetInterning();
  ResetModules();
  ResetStacks();
  ResetImages();
  ResetTensorMaps();
  ResetGreens();
  ResetCounts();
  ResetBreadcrumbs();
  ResetRanges();
  ResetNccl();
  ResetTold();
  ResetTrial();
  g_shares.store(false);
  g_lock = PTHREAD_MUTEX_INITIALIZER;
  g_exiting.store(false);
  g_state.store(kIdle, std::memory_order_release);
}

bool ContextIsCurrent() {
  CUcontext context = nullptr;
  const Driver& driver = TheDriver();
  return driver.ctx_get_current && driver.ctx_get_current(&context) == CUDA_SUCCESS;
}

Thread* Open(bool late) {
  pthread_mutex_lock(&g_lock);
  Thread* thread = g_state.load() == kIdle ? OpenLocked(late) : nullptr;
  pthread_mutex_unlock(&g_lock);
  return thread;
}

Thread* AddThread() {
  Thread* thread = NewThread();
  if (thread) {
    IntroduceThread(*thread);
  } else {
    g_client->CountLost(1);
  }
  return thread;
}

Thread* FindThread(bool driver_is_up) {
  if (g_state.load(std::memory_order_acquire) == kCold) ReadEnvironment();
  if (g_state.load(std::memory_order_acquire) == kOpen && !g_client->alive()) ForgetParent();
  int state = g_state.load(std::memory_order_acquire);
  if (state == kPassive) return nullptr;
  if (state == kIdle) {
    // A driver that is up although its cuInit did not pass through here was in use before us.
    bool late = !driver_is_up;
    if (late && !ContextIsCurrent()) return nullptr;
    Thread* opened = Open(late);
    if (opened || g_state.load() != kOpen) return opened;
  }
  return AddThread();
}

}  // namespace

// The time is read behind the number: what has ended by then has an earlier time in every process.
void TellTimeNow(Thread& thread, uint64_t seq) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t ns =
      static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  size_t bytes =
      trace::Encode(thread.record, trace::kMaxRecord, seq, seq, trace::view::Time{.ns = ns});
  thread.ring->Append(thread.record, bytes);
}

void PauseRecording(bool pause) { g_paused.store(pause, std::memory_order_relaxed); }

Thread* CurrentThread(bool driver_is_up) {
  if (g_paused.load(std::memory_order_relaxed)) [[unlikely]]
    return nullptr;
  Thread* thread = t_thread;
  if (thread && thread->ring->alive()) [[likely]]
    return thread;
  if (t_busy || g_state.load(std::memory_order_relaxed) == kPassive) return nullptr;
  t_busy = true;
  thread = FindThread(driver_is_up);
  t_busy = false;
  return thread;
}

Thread* OpenedThread() {
  Thread* thread = t_thread;
  return thread && thread->ring->alive() ? thread : nullptr;
}

bool DriverWasUp() {
  if (g_state.load(std::memory_order_acquire) == kCold) ReadEnvironment();
  return g_state.load(std::memory_order_relaxed) != kPassive && ContextIsCurrent();
}

void OnInit(bool was_up) {
  if (!was_up) CurrentThread(true);
}

const Options& TheOptions() { return g_options; }

}  // namespace ss::capture
