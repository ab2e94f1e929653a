// Rules 5 and 6: events, queries, synchronisation by the host.
#pragma once

#include "order_probes.h"

namespace probes {

inline std::string PollThenLook(Lab& l, bool by_event) {
  Event e;
  l.Busy(l.a);
  e.Record(l.a);
  while ((by_event ? cudaEventQuery(e) : cudaStreamQuery(l.a)) == cudaErrorNotReady) {
  }
  const bool host_saw = l.slots[0].done;
  l.Look(l.b);
  return host_saw ? l.Seen() : "before";
}

inline std::string EventDestroyedWhileAwaited(Lab& l) {
  {
    Event e;
    l.Busy(l.a);
    e.Record(l.a);
    e.MakeWait(l.b);
  }
  l.Look(l.b);
  return l.Seen();
}

inline std::string ElapsedOfPending(Lab& l) {
  Event first, last;
  float ms = 0;
  first.Record(l.a);
  l.Busy(l.a);
  last.Record(l.a);
  return ReadyOr(cudaEventElapsedTime(&ms, first, last));
}

inline std::string ElapsedThenLook(Lab& l) {
  Event first, last;
  float ms = 0;
  first.Record(l.a);
  l.Busy(l.a);
  last.Record(l.a);
  while (cudaEventElapsedTime(&ms, first, last) == cudaErrorNotReady) {
  }
  l.Look(l.b);
  return l.Seen();
}

inline std::string SecondContextSynchronize(Lab& l) {
  std::string seen;
  l.Busy(l.a);
  l.InSecondContext([&] {
    l.driver.ctx_synchronize();
    seen = l.Returned();
  });
  return seen;
}

// Device 1's producer raises its flag in portable pinned memory; only the flag is looked at.
template <typename F>
std::string OnSecondDevice(Lab& l, F f) {
  if (l.devices < 2) return "skipped: one device";
  MUST(cudaSetDevice(1));
  cudaStream_t s;
  MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  Delay<<<1, 1, 0, s>>>(&l.slots[1], nullptr, 0, 0);
  MUST(cudaStreamSynchronize(s));
  l.slots[1].done = 0;
  MUST(cudaSetDevice(0));
  std::string seen = f(s);
  MUST(cudaSetDevice(1));
  MUST(cudaStreamSynchronize(s));
  MUST(cudaStreamDestroy(s));
  MUST(cudaSetDevice(0));
  return seen;
}

inline void BusyOnSecondDevice(Lab& l, cudaStream_t s) {
  MUST(cudaSetDevice(1));
  Delay<<<1, 1, 0, s>>>(&l.slots[1], nullptr, 0, l.delay_ns());
  MUST(cudaGetLastError());
}

inline std::string DeviceSyncOfOther(Lab& l) {
  return OnSecondDevice(l, [&](cudaStream_t s) {
    BusyOnSecondDevice(l, s);
    MUST(cudaSetDevice(0));
    MUST(cudaDeviceSynchronize());
    return l.Returned(1);
  });
}

inline std::string WaitAcrossDevices(Lab& l) {
  return OnSecondDevice(l, [&](cudaStream_t s) {
    BusyOnSecondDevice(l, s);
    Event e;
    e.Record(s);
    MUST(cudaSetDevice(0));
    e.MakeWait(l.a);
    LookAt<<<1, 1, 0, l.a>>>(&l.slots[kWords], &l.slots[1].done);
    MUST(cudaStreamSynchronize(l.a));
    return std::string(l.slots[kWords].seen ? "after" : "before");
  });
}

inline std::string RecordAcrossDevices(Lab& l) {
  return OnSecondDevice(l, [&](cudaStream_t s) {
    Event of_first;
    const cudaError_t e = cudaEventRecord(of_first, s);
    return std::string(e == cudaSuccess ? "accepted" : "refused");
  });
}

const Probe kEventProbes[] = {
    {"5", "record behind the work, other stream waits", "after",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "record, then the work, then the wait", "before",
     [](Lab& l) {
       Event e;
       e.Record(l.a);
       l.Busy(l.a);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "wait, then the work, then a second record", "before",
     [](Lab& l) {
       Event e;
       e.Record(l.a);
       e.MakeWait(l.b);
       l.Busy(l.a);
       e.Record(l.a);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "record behind the work, wait, then a record on an idle stream", "after",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(l.b);
       e.Record(l.c);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "record behind the work, then on an idle stream, then the wait", "before",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.Record(l.c);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "wait for a never-recorded event", "before",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "never-recorded wait, then the record, then use", "before",
     [](Lab& l) {
       Event e;
       e.MakeWait(l.b);
       l.Busy(l.a);
       e.Record(l.a);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "through two events and a third stream", "after",
     [](Lab& l) {
       Event e, f;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(l.c);
       f.Record(l.c);
       f.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "the wait is later in the consumer's stream than the use", "before",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       l.Look(l.b);
       e.MakeWait(l.b);
       return l.Seen();
     }},
    {"5", "event without timing", "after",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(l.b);
       l.Look(l.b);
       return l.Seen();
     }},
    {"5", "event destroyed between wait and completion", "after", EventDestroyedWhileAwaited},
    {"5", "record and wait, stream busy: host", "early",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(l.b);
       return l.Returned();
     }},
    {"6", "cudaEventQuery until success, then launch elsewhere", "after",
     [](Lab& l) { return PollThenLook(l, true); }},
    {"6", "cudaStreamQuery until success, then launch elsewhere", "after",
     [](Lab& l) { return PollThenLook(l, false); }},
    {"6", "cudaEventQuery, work pending", "not ready",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       return ReadyOr(cudaEventQuery(e));
     }},
    {"6", "cudaEventQuery not ready, then launch elsewhere", "before",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       cudaEventQuery(e);
       l.Look(l.b);
       return l.Seen();
     }},
    {"6", "cudaEventQuery of a never-recorded event, work pending", "ready",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       return ReadyOr(cudaEventQuery(e));
     }},
    {"6", "cudaEventSynchronize of a never-recorded event: host", "early",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       MUST(cudaEventSynchronize(e));
       return l.Returned();
     }},
    {"6", "cudaEventSynchronize: host", "waits",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       MUST(cudaEventSynchronize(e));
       return l.Returned();
     }},
    {"6", "cudaEventSynchronize of a record on legacy, blocking busy: host", "waits",
     [](Lab& l) {
       Event e;
       l.Busy(l.p);
       e.Record(cudaStreamLegacy);
       MUST(cudaEventSynchronize(e));
       return l.Returned();
     }},
    {"6", "cudaEventSynchronize of a record on idle blocking, legacy busy: host", "waits",
     [](Lab& l) {
       Event e;
       l.Busy(cudaStreamLegacy);
       e.Record(l.p);
       MUST(cudaEventSynchronize(e));
       return l.Returned();
     }},
    {"4", "cudaStreamSynchronize(legacy), per-thread stream of T busy: host", "waits",
     [](Lab& l) {
       {
         Waiter t([&] { l.Busy(cudaStreamPerThread); });
       }
       MUST(cudaStreamSynchronize(cudaStreamLegacy));
       return l.Returned();
     }},
    {"6", "cudaEventSynchronize, more work behind the record: host", "early",
     [](Lab& l) {
       Event e;
       e.Record(l.a);
       l.Busy(l.a);
       MUST(cudaEventSynchronize(e));
       return l.Returned();
     }},
    {"6", "cudaEventElapsedTime, second event pending", "not ready", ElapsedOfPending},
    {"6", "cudaEventElapsedTime until success, then launch elsewhere", "after", ElapsedThenLook},
    {"6", "cudaStreamSynchronize: host", "waits",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaStreamSynchronize(l.a));
       return l.Returned();
     }},
    {"6", "cudaStreamSynchronize of another non-blocking stream: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaStreamSynchronize(l.b));
       return l.Returned();
     }},
    {"6", "cudaStreamSynchronize of another blocking stream: host", "early",
     [](Lab& l) {
       l.Busy(l.p);
       MUST(cudaStreamSynchronize(l.q));
       return l.Returned();
     }},
    {"6", "cudaStreamSynchronize of the stream that waits for the busy one: host", "waits",
     [](Lab& l) {
       Event e;
       l.Busy(l.a);
       e.Record(l.a);
       e.MakeWait(l.b);
       MUST(cudaStreamSynchronize(l.b));
       return l.Returned();
     }},
    {"6", "cudaDeviceSynchronize, non-blocking busy: host", "waits",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaDeviceSynchronize());
       return l.Returned();
     }},
    {"6", "cudaDeviceSynchronize, per-thread stream of another thread busy: host", "waits",
     [](Lab& l) {
       {
         Waiter t([&] { l.Busy(cudaStreamPerThread); });
       }
       MUST(cudaDeviceSynchronize());
       return l.Returned();
     }},
    {"6", "cuCtxSynchronize of another context of the device: host", "early",
     SecondContextSynchronize},
    {"6", "cudaDeviceSynchronize of device 0, device 1 busy: host", "early", DeviceSyncOfOther},
    {"5", "stream of device 0 waits for an event of device 1", "after", WaitAcrossDevices},
    {"5", "record of device 0's event on device 1's stream", "refused", RecordAcrossDevices},
};

}  // namespace probes
