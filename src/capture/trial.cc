#include "src/capture/trial.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/capture/driver.h"
#include "src/capture/graph.h"
#include "src/capture/modules.h"
#include "src/capture/session.h"
#include "src/trace/trial.h"

namespace ss::capture {

std::atomic<uint64_t> g_trial_stacks[2];

namespace {

using trace::TrialOutcome;

enum Side { kFirst, kSecond };
enum State : int {
  kWaiting,  // for the first call
  kHeld,     // it is in its stream, behind the gate
  kIssued,   // so is the second, in its own
  kEnded,
};

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr size_t kPage = 4096;
constexpr timespec kLook{0, 200'000};

trace::TrialPlan g_plan;
std::atomic<uint64_t> g_calls[2];  // that succeeded
std::atomic<int> g_state{kWaiting};
std::atomic<uint64_t> g_since;    // the first was held, or the second issued
std::atomic<uint64_t> g_held_at;  // 0 = nothing is held
// In a page of our own that the driver pins: it stays when a context goes.
struct Words {
  std::atomic<uint32_t> open;      // the first may begin
  std::atomic<uint32_t> complete;  // the second is
};
Words* g_words;
CUdeviceptr g_device_words;  // as the device sees it

uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

const trace::TrialCall& Planned(Side side) { return side == kFirst ? g_plan.first : g_plan.second; }

// The call that is about to be made, or was made just now, is the one that was named.
bool IsIts(Side side, uint64_t stack, uint64_t calls) {
  return g_trial_stacks[side].load() == stack && calls == Planned(side).number;
}

// Once: the first to say so.
void End(Thread& thread, uint64_t seq, TrialOutcome outcome, CUresult result = CUDA_SUCCESS) {
  if (g_state.exchange(kEnded) == kEnded) return;
  const uint64_t held_at = g_held_at.load();
  if (held_at) g_words->open.store(1);
  const trace::view::Trial trial{.outcome = static_cast<uint64_t>(outcome),
                                 .held_us = held_at ? (Now() - held_at) / 1000 : 0,
                                 .result = result};
  const size_t bytes = trace::Encode(thread.record, trace::kMaxRecord, seq, seq, trial);
  thread.ring->Append(thread.record, bytes);
}

TrialOutcome WithoutCompletion() {
  return g_state.load() == kIssued ? TrialOutcome::kWaited : TrialOutcome::kNotIssued;
}

// Outside of any call.
void Finish(Thread& thread, TrialOutcome outcome) {
  End(thread, thread.ring->Begin(), outcome);
  thread.ring->End();
}

// Nothing of the program's may be held for ever, whatever it does meanwhile.
void* Watch(void*) {
  prctl(PR_SET_NAME, "StreamSan");
  Thread* thread = CurrentThread();
  while (thread && g_state.load() != kEnded) {
    if (g_words->complete.load()) {
      Finish(*thread, TrialOutcome::kConfirmed);
    } else if (Now() - g_since.load() > g_plan.seconds * kSecondNs) {
      Finish(*thread, WithoutCompletion());
    }
    nanosleep(&kLook, nullptr);
  }
  if (!thread) g_words->open.store(1);  // nobody to tell
  return nullptr;
}

bool StartWatch() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are its own threads'
  pthread_t watch;
  const bool started = pthread_create(&watch, nullptr, Watch, nullptr) == 0;
  if (started) pthread_detach(watch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// While it lives, this thread's calls do no harm to captures that are under way on other streams.
class BesideCaptures {
 public:
  BesideCaptures() { Exchange(); }
  ~BesideCaptures() { Exchange(); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  void Exchange() {
    if (TheDriver().thread_exchange_capture_mode)
      (void)TheDriver().thread_exchange_capture_mode(&mode_);
  }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

CUresult MakeGate(uint64_t stream) {
  const BesideCaptures beside;
  const Driver& driver = TheDriver();
  if (!driver.mem_host_register || !driver.mem_host_get_device_pointer ||
      !driver.stream_wait_value || !driver.stream_write_value) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  g_words = static_cast<Words*>(page);  // zeros
  const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  CUresult result = driver.mem_host_register(page, kPage, flags);
  if (result == CUDA_SUCCESS) result = driver.mem_host_get_device_pointer(&g_device_words, page, 0);
  if (result != CUDA_SUCCESS) return result;
  return driver.stream_wait_value(reinterpret_cast<CUstream>(stream),
                                  g_device_words + offsetof(Words, open), 1,
                                  CU_STREAM_WAIT_VALUE_GEQ);
}

// Before the call: what it queues comes behind the gate.
void Hold(Thread& thread, uint64_t before, uint64_t stream) {
  if (g_calls[kSecond].load() >= g_plan.second.number)
    return End(thread, before, TrialOutcome::kCameFirst);
  if (stream == 0) return End(thread, before, TrialOutcome::kRefused, CUDA_ERROR_NOT_SUPPORTED);
  if (IsCapturing(stream)) return End(thread, before, TrialOutcome::kInGraph);
  const bool nested = thread.in_driver;
  thread.in_driver = true;
  const CUresult result = MakeGate(stream);
  thread.in_driver = nested;
  if (result != CUDA_SUCCESS) return End(thread, before, TrialOutcome::kRefused, result);
  g_since.store(Now());
  g_held_at.store(g_since.load());
  g_state.store(kHeld);
  if (!StartWatch()) End(thread, before, TrialOutcome::kRefused);
}

void MarkCompletion(Thread& thread, uint64_t before, uint64_t stream) {
  if (g_plan.by_cpu || stream == 0) return g_words->complete.store(1);
  if (IsCapturing(stream)) return End(thread, before, TrialOutcome::kInGraph);
  thread.in_driver = true;
  const CUresult result = TheDriver().stream_write_value(reinterpret_cast<CUstream>(stream),
                                                         g_device_words + offsetof(Words, complete),
                                                         1, CU_STREAM_WRITE_VALUE_DEFAULT);
  thread.in_driver = false;
  if (result != CUDA_SUCCESS) End(thread, before, TrialOutcome::kRefused, result);
}

void SecondComes() {
  int held = kHeld;
  if (g_state.compare_exchange_strong(held, kIssued)) g_since.store(Now());
}

}  // namespace

void ReadTrial(const char* text) {
  g_plan = {};
  if (!text) return;
  for (uint64_t* field : {&g_plan.first.place, &g_plan.first.number, &g_plan.second.place,
                          &g_plan.second.number, &g_plan.by_cpu, &g_plan.seconds}) {
    char* end = nullptr;
    *field = strtoull(text, &end, 16);
    text = *end ? end + 1 : end;
  }
}

void LookForTrial(uint64_t stack, const uint64_t* addresses, size_t count) {
  if (!g_plan.seconds) return;
  trace::PlaceHash place;
  for (size_t i = 0; i < count; ++i) AddPlace(addresses[i], &place);
  for (Side side : {kFirst, kSecond}) {
    if (place.value() == Planned(side).place) g_trial_stacks[side].store(stack);
  }
}

void TrialBefore(Thread& thread, uint64_t before, uint64_t stack, uint64_t stream) {
  if (g_state.load() == kEnded) return;
  if (IsIts(kFirst, stack, g_calls[kFirst].load() + 1)) {
    Hold(thread, before, stream);
  } else if (IsIts(kSecond, stack, g_calls[kSecond].load() + 1)) {
    SecondComes();
  }
}

void TrialAfter(Thread& thread, uint64_t before, uint64_t stack, uint64_t stream, CUresult result) {
  if (result != CUDA_SUCCESS) return;
  for (Side side : {kFirst, kSecond}) {
    if (g_trial_stacks[side].load() != stack) continue;
    const uint64_t calls = g_calls[side].fetch_add(1) + 1;
    const bool marks = side == kSecond && calls == g_plan.second.number;
    if (marks && g_state.load() == kIssued) MarkCompletion(thread, before, stream);
  }
}

void TrialNote(Thread& thread, uint64_t stack) {
  if (!IsOnTrial(stack)) [[likely]]
    return;
  const uint64_t before = thread.ring->Begin();
  TrialBefore(thread, before, stack, 0);
  TrialAfter(thread, before, stack, 0, CUDA_SUCCESS);
  thread.ring->End();
}

void EndTrial(Thread& thread) {
  const int state = g_state.load();
  if (state == kHeld || state == kIssued) Finish(thread, WithoutCompletion());
}

// What the parent holds is the parent's.
void ResetTrial() {
  g_state.store(kWaiting);
  g_held_at.store(0);
  for (Side side : {kFirst, kSecond}) {
    g_trial_stacks[side].store(0);
    g_calls[side].store(0);
  }
}

}  // namespace ss::capture
