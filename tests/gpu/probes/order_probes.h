// Rules 1-4: streams, host threads, default streams.
#pragma once

#include "probe_kit.h"

// The runtime exports both variants of each call; the header shows one of them per translation
// unit.
extern "C" cudaError_t CUDARTAPI cudaStreamQuery_ptsz(cudaStream_t);
extern "C" cudaError_t CUDARTAPI cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t,
                                                       cudaStream_t);

namespace probes {

constexpr cudaStream_t kZero = nullptr;  // legacy in this translation unit

inline std::string ReadyOr(cudaError_t e) {
  if (e == cudaErrorNotReady) return "not ready";
  MUST(e);
  return "ready";
}

// Another host thread blocks in `wait` while the calling thread goes on.
class Waiter {
 public:
  template <typename F>
  explicit Waiter(F wait)
      : thread_([this, wait] {
          cudaSetDevice(0);
          entered_ = true;
          wait();
        }) {
    while (!entered_) std::this_thread::yield();
    Lab::Sleep(3);
  }
  ~Waiter() { thread_.join(); }

 private:
  std::atomic<bool> entered_{false};
  std::thread thread_;
};

inline std::string AfterDestroyedStream(Lab& l) {
  cudaStream_t old, fresh;
  MUST(cudaStreamCreateWithFlags(&old, cudaStreamNonBlocking));
  l.Busy(old);
  MUST(cudaStreamDestroy(old));
  MUST(cudaStreamCreateWithFlags(&fresh, cudaStreamNonBlocking));
  l.Look(fresh);
  std::string seen = l.Seen();
  MUST(cudaStreamDestroy(fresh));
  return seen;
}

inline std::string StreamDestroyReturns(Lab& l) {
  cudaStream_t s;
  MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  l.Busy(s);
  MUST(cudaStreamDestroy(s));
  return l.Returned();
}

inline std::string FirstLaunchReturns(Lab& l) {
  using Kernel = void (*)(Slot*);
  static const Kernel kFresh[kMaxReps] = {NeverLoaded<0>, NeverLoaded<1>, NeverLoaded<2>,
                                          NeverLoaded<3>, NeverLoaded<4>, NeverLoaded<5>,
                                          NeverLoaded<6>, NeverLoaded<7>};
  l.Busy(l.a);
  kFresh[l.rep]<<<1, 1, 0, l.b>>>(&l.slots[kWords]);
  MUST(cudaGetLastError());
  return l.Returned();
}

inline std::string OnStreamMadeLater(Lab& l) {
  cudaStream_t s;
  l.Busy(cudaStreamLegacy);
  MUST(cudaStreamCreate(&s));
  l.Look(s);
  std::string seen = l.Seen();
  MUST(cudaStreamDestroy(s));
  return seen;
}

inline std::string PtszLaunchOnZero(Lab& l) {
  l.Busy(l.p);
  Slot* slot = &l.slots[kWords];
  const volatile int* word = l.words;
  void* args[] = {&slot, &word};
  MUST(cudaLaunchKernel_ptsz(reinterpret_cast<const void*>(LookAt), 1, 1, args, 0, kZero));
  return l.Seen();
}

// The second context cannot read the first one's memory; it looks at the producer's pinned flag.
inline std::string LegacyOfSecondContext(Lab& l) {
  l.Busy(l.p);
  l.InSecondContext([&] {
    LookAt<<<1, 1, 0, cudaStreamLegacy>>>(&l.slots[kWords], &l.slots[0].done);
    l.driver.ctx_synchronize();
  });
  return l.slots[kWords].seen ? "after" : "before";
}

// Does a call on the legacy stream, whose own work is nothing, stand as a barrier between p and q?
template <typename F>
std::string BarrierBetweenBlocking(Lab& l, F on_legacy) {
  l.Busy(l.p);
  on_legacy();
  l.Look(l.q);
  return l.Seen();
}

const Probe kOrderProbes[] = {
    {"1", "new stream while the work of a destroyed one is pending", "before",
     AfterDestroyedStream},
    {"1", "cudaStreamDestroy with work pending: host", "early", StreamDestroyReturns},
    {"2", "same stream, kernel behind kernel", "after",
     [](Lab& l) {
       l.Busy(l.a);
       l.Look(l.a);
       return l.Seen();
     }},
    {"2", "same stream, copy behind kernel", "after",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaMemcpyAsync(l.pinned, l.words, 4, cudaMemcpyDeviceToHost, l.a));
       MUST(cudaStreamSynchronize(l.a));
       return std::string(*reinterpret_cast<int*>(l.pinned) == kValue ? "after" : "before");
     }},
    {"2", "two non-blocking streams, no edge", "before",
     [](Lab& l) {
       l.Busy(l.a);
       l.Look(l.b);
       return l.Seen();
     }},
    {"2", "two blocking streams, no edge", "before",
     [](Lab& l) {
       l.Busy(l.p);
       l.Look(l.q);
       return l.Seen();
     }},
    {"2", "kernel launch: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       return l.Returned();
     }},
    {"2", "host synchronises one stream, then launches on another", "after",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaStreamSynchronize(l.a));
       l.Look(l.b);
       return l.Seen();
     }},
    {"2", "first launch of a kernel not yet loaded, another stream busy: host", nullptr,
     FirstLaunchReturns},
    {"3", "thread T synchronises, is joined; then main launches elsewhere", "after",
     [](Lab& l) {
       l.Busy(l.a);
       {
         Waiter t([&] { cudaStreamSynchronize(l.a); });
       }
       l.Look(l.b);
       return l.Seen();
     }},
    {"3", "T is inside its synchronise; main launches elsewhere", "before",
     [](Lab& l) {
       l.Busy(l.a);
       Waiter t([&] { cudaStreamSynchronize(l.a); });
       l.Look(l.b);
       return l.Seen();
     }},
    {"3", "T is inside its synchronise; main launches on the same stream: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       Waiter t([&] { cudaStreamSynchronize(l.a); });
       l.Look(l.a);
       return l.Returned();
     }},
    {"3", "T is inside its synchronise; main queries that stream, launches elsewhere", "before",
     [](Lab& l) {
       l.Busy(l.a);
       Waiter t([&] { cudaStreamSynchronize(l.a); });
       cudaStreamQuery(l.a);
       l.Look(l.b);
       return l.Seen();
     }},
    {"4", "non-blocking busy, then legacy", "before",
     [](Lab& l) {
       l.Busy(l.a);
       l.Look(cudaStreamLegacy);
       return l.Seen();
     }},
    {"4", "legacy busy, then non-blocking", "before",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       l.Look(l.a);
       return l.Seen();
     }},
    {"4", "blocking busy, then legacy (handle 0x1)", "after",
     [](Lab& l) {
       l.Busy(l.p);
       l.Look(cudaStreamLegacy);
       return l.Seen();
     }},
    {"4", "blocking busy, then handle 0", "after",
     [](Lab& l) {
       l.Busy(l.p);
       l.Look(kZero);
       return l.Seen();
     }},
    {"4", "blocking busy, then handle 0 through the _ptsz variant", "before", PtszLaunchOnZero},
    {"4", "legacy launch behind busy blocking stream: host", "early",
     [](Lab& l) {
       l.Busy(l.p);
       l.Look(cudaStreamLegacy);
       return l.Returned();
     }},
    {"4", "legacy busy, then blocking", "after",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       l.Look(l.p);
       return l.Seen();
     }},
    {"4", "legacy busy, then blocking stream created afterwards", "after", OnStreamMadeLater},
    {"4", "blocking p busy, kernel on legacy, then blocking q", "after",
     [](Lab& l) { return BarrierBetweenBlocking(l, [&] { l.Look(cudaStreamLegacy, 1); }); }},
    {"4", "blocking p busy, 4-byte memset on legacy, then blocking q", "after",
     [](Lab& l) {
       return BarrierBetweenBlocking(l,
                                     [&] { MUST(cudaMemsetAsync(l.dev, 0, 4, cudaStreamLegacy)); });
     }},
    {"4", "blocking p busy, host function on legacy, then blocking q", "after",
     [](Lab& l) {
       return BarrierBetweenBlocking(l, [] {
         MUST(cudaLaunchHostFunc(
             cudaStreamLegacy, [](void*) {}, nullptr));
       });
     }},
    {"4", "blocking p busy, event record on legacy, then blocking q", "after",
     [](Lab& l) {
       Event e;
       return BarrierBetweenBlocking(l, [&] { e.Record(cudaStreamLegacy); });
     }},
    {"4", "blocking p busy, legacy waits for a complete event, then blocking q", "after",
     [](Lab& l) {
       Event e;
       e.Record(l.a);
       MUST(cudaEventSynchronize(e));
       return BarrierBetweenBlocking(l, [&] { e.MakeWait(cudaStreamLegacy); });
     }},
    {"4", "blocking p busy, legacy waits for a never-recorded event, then blocking q", nullptr,
     [](Lab& l) {
       Event e;
       return BarrierBetweenBlocking(l, [&] { e.MakeWait(cudaStreamLegacy); });
     }},
    {"4", "blocking p busy, T is inside synchronise(legacy), then main uses blocking q", "after",
     [](Lab& l) {
       l.Busy(l.p);
       Waiter t([] { cudaStreamSynchronize(cudaStreamLegacy); });
       l.Look(l.q);
       return l.Seen();
     }},
    {"4", "blocking p busy, query of legacy, then blocking q", "before",
     [](Lab& l) { return BarrierBetweenBlocking(l, [] { cudaStreamQuery(cudaStreamLegacy); }); }},
    {"4", "blocking busy, record on legacy, non-blocking waits for it", "after",
     [](Lab& l) {
       Event e;
       l.Busy(l.p);
       e.Record(cudaStreamLegacy);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"4", "legacy busy, record on idle blocking stream, non-blocking waits for it", "after",
     [](Lab& l) {
       Event e;
       l.Busy(cudaStreamLegacy);
       e.Record(l.p);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"4", "legacy waits for an event of a busy non-blocking stream, then blocking", "after",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(cudaStreamLegacy);
       l.Look(l.p);
       return l.Seen();
     }},
    {"4", "the same, then non-blocking", "before",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(cudaStreamLegacy);
       l.Look(l.b);
       return l.Seen();
     }},
    {"4", "cudaStreamSynchronize(legacy), blocking busy: host", "waits",
     [](Lab& l) {
       l.Busy(l.p);
       MUST(cudaStreamSynchronize(cudaStreamLegacy));
       return l.Returned();
     }},
    {"4", "cudaStreamSynchronize(legacy), non-blocking busy: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaStreamSynchronize(cudaStreamLegacy));
       return l.Returned();
     }},
    {"4", "cudaStreamSynchronize(blocking) that has no work, legacy busy: host", "early",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       MUST(cudaStreamSynchronize(l.p));
       return l.Returned();
     }},
    {"4", "cudaStreamQuery(legacy), blocking busy", "not ready",
     [](Lab& l) {
       l.Busy(l.p);
       return ReadyOr(cudaStreamQuery(cudaStreamLegacy));
     }},
    {"4", "cudaStreamQuery(0) through the _ptsz variant, blocking busy", "ready",
     [](Lab& l) {
       l.Busy(l.p);
       return ReadyOr(cudaStreamQuery_ptsz(kZero));
     }},
    {"4", "cudaStreamQuery(legacy), non-blocking busy", "ready",
     [](Lab& l) {
       l.Busy(l.a);
       return ReadyOr(cudaStreamQuery(cudaStreamLegacy));
     }},
    {"4", "cudaStreamQuery(blocking) that has no work, legacy busy", "ready",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       return ReadyOr(cudaStreamQuery(l.p));
     }},
    {"4", "blocking busy in main, thread T launches on legacy", "after",
     [](Lab& l) {
       l.Busy(l.p);
       {
         Waiter t([&] { l.Look(cudaStreamLegacy); });
       }
       return l.Seen();
     }},
    {"4", "per-thread stream, same thread", "after",
     [](Lab& l) {
       l.Busy(cudaStreamPerThread);
       l.Look(cudaStreamPerThread);
       return l.Seen();
     }},
    {"4", "per-thread streams of two threads", "before",
     [](Lab& l) {
       l.Busy(cudaStreamPerThread);
       {
         Waiter t([&] { l.Look(cudaStreamPerThread); });
       }
       return l.Seen();
     }},
    {"4", "per-thread busy, then legacy", "after",
     [](Lab& l) {
       l.Busy(cudaStreamPerThread);
       l.Look(cudaStreamLegacy);
       return l.Seen();
     }},
    {"4", "per-thread of T busy, then legacy of main", "after",
     [](Lab& l) {
       {
         Waiter t([&] { l.Busy(cudaStreamPerThread); });
       }
       l.Look(cudaStreamLegacy);
       return l.Seen();
     }},
    {"4", "legacy busy, then per-thread", "after",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       l.Look(cudaStreamPerThread);
       return l.Seen();
     }},
    {"4", "per-thread busy, then blocking", "before",
     [](Lab& l) {
       l.Busy(cudaStreamPerThread);
       l.Look(l.p);
       return l.Seen();
     }},
    {"4", "per-thread busy, then non-blocking", "before",
     [](Lab& l) {
       l.Busy(cudaStreamPerThread);
       l.Look(l.a);
       return l.Seen();
     }},
    {"4", "blocking of one context busy, then legacy of another context", "before",
     LegacyOfSecondContext},
};

}  // namespace probes
