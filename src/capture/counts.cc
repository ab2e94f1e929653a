#include "src/capture/counts.h"

#include "src/capture/intern.h"
#include "src/capture/nccl.h"
#include "src/capture/session.h"

extern "C" {
alignas(64) uint64_t ss_calls[ss::capture::kHooks];
uint64_t ss_nccl_own_calls[ss::capture::kHooks];
alignas(64) uint8_t ss_counted_call_seen;
}

namespace ss::capture {
namespace {

constexpr uint32_t kCountsInterval = 64;
constexpr int kGaps = static_cast<int>(Gap::kGaps);
constexpr const char* kGapNames[kGaps] = {
    "launch with unknown parameter layout",
    "cuMemcpy2D/3D to or from an array",
    "launch with two events",
    "launch with more words than a record holds",
    "function in a form newer than this tool",
    "call with one stack too many to keep",
    "ncclPutSignal, ncclSignal or ncclWaitSignal",
    "NCCL reduction with its scalar in device memory",
    "NCCL function of a second library",
    "machine code that could not be read",
    "tensor map of unknown extent",
    "graph with more nodes or edges than a record holds",
    "graph node of a kind that is not modelled",
    "NCCL call captured into a graph, told by its profiler interface",
};

uint64_t g_gaps[kGaps];
// Already told, by name; whoever moves a value forward emits the difference.
std::atomic<uint64_t> g_told[kHooks + kGaps];

void Tell(Thread& thread, const char* name, uint64_t total, std::atomic<uint64_t>& told) {
  uint64_t before = told.load(std::memory_order_relaxed);
  if (before >= total || !told.compare_exchange_strong(before, total)) return;
  Note(thread, trace::view::Unmodelled{.text_id = TextId(thread, name), .count = total - before});
}

}  // namespace

void CountGap(Gap gap) {
  __atomic_fetch_add(&g_gaps[static_cast<int>(gap)], 1, __ATOMIC_RELAXED);
  __atomic_store_n(&ss_counted_call_seen, 1, __ATOMIC_RELEASE);
}

void NoteCountedCalls(Thread& thread, bool now) {
  if (!now && ++thread.since_counts < kCountsInterval) return;
  thread.since_counts = 0;
  __atomic_store_n(&ss_counted_call_seen, 0, __ATOMIC_SEQ_CST);  // before reading: none is lost
  for (int i = 0; i < kHooks; ++i) {
    if (!kHookRows[i].reason) continue;
    // In this order: a call in between is told a little later, never one too many.
    uint64_t calls = __atomic_load_n(&ss_calls[i], __ATOMIC_ACQUIRE);
    uint64_t by_nccl = __atomic_load_n(&ss_nccl_own_calls[i], __ATOMIC_ACQUIRE);
    if (by_nccl < calls) Tell(thread, kHookRows[i].symbol, calls - by_nccl, g_told[i]);
  }
  for (int i = 0; i < kGaps; ++i) {
    uint64_t count = __atomic_load_n(&g_gaps[i], __ATOMIC_RELAXED);
    Tell(thread, kGapNames[i], count, g_told[kHooks + i]);
  }
}

void NoteCounters(Thread& thread) {
  uint64_t* pairs = thread.words;
  size_t size = 0;
  for (int i = 0; i < kHooks; ++i) {
    uint64_t calls = __atomic_load_n(&ss_calls[i], __ATOMIC_RELAXED);
    if (calls == 0) continue;
    pairs[size++] = TextId(thread, kHookRows[i].symbol);
    pairs[size++] = calls;
  }
  for (int i = 0; i < kNcclRows; ++i) {
    if (NcclCalls(i) == 0) continue;
    pairs[size++] = TextId(thread, kNcclNames[i]);
    pairs[size++] = NcclCalls(i);
  }
  Note(thread, trace::view::Counters{.counts = {pairs, size}});
}

void ResetCounts() {
  for (uint64_t& calls : ss_calls) calls = 0;
  for (uint64_t& calls : ss_nccl_own_calls) calls = 0;
  for (uint64_t& count : g_gaps) count = 0;
  for (auto& told : g_told) told.store(0);
}

}  // namespace ss::capture
