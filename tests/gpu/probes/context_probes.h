// Rule 15: green contexts, and events over a whole context.
#pragma once

#include "order_probes.h"

namespace probes {

// Two green contexts of device 0, found and made at the first use. The driver's functions are those
// of CUDA 12.4 and 12.5.
class Greens {
 public:
  explicit Greens(Lab& l) {
    Find("cuGreenCtxCreate", &create);
    Find("cuGreenCtxDestroy", &destroy);
    Find("cuCtxFromGreenCtx", &from_green);
    Find("cuGreenCtxStreamCreate", &stream_create);
    Find("cuGreenCtxRecordEvent", &green_record);
    Find("cuGreenCtxWaitEvent", &green_wait);
    Find("cuCtxRecordEvent", &record);
    Find("cuCtxWaitEvent", &wait);
    Find("cuDeviceGetDevResource", &device_resource);
    Find("cuDevSmResourceSplitByCount", &split);
    Find("cuDevResourceGenerateDesc", &describe);
    Find("cuStreamGetCtx", &stream_context, 9020);  // the form with one context
    Find("cuStreamBeginCapture", &begin_capture);
    Find("cuStreamEndCapture", &end_capture);
    Find("cuEventCreate", &event_create);
    Find("cuStreamCreate", &plain_stream);
    Find("cuStreamGetFlags", &stream_flags);
    Find("cuMemAlloc", &alloc);
    Find("cuMemFree", &free);
    CUdevResource all;
    Ok(device_resource(0, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
    unsigned count = 2;
    Ok(split(groups, &count, &all, nullptr, 0, 16), "cuDevSmResourceSplitByCount");
    l.driver.ctx_get_current(&primary);
    for (int i = 0; i < 2; ++i) {
      green[i] = Make(i);
      Ok(from_green(&context[i], green[i]), "cuCtxFromGreenCtx");
      stream[i] = Stream(i);
    }
    Ok(from_green(&again, green[0]), "cuCtxFromGreenCtx");
    In(l, context[0], [&] {
      Ok(plain_stream(&blocking, CU_STREAM_DEFAULT), "cuStreamCreate");
      LookAt<<<1, 1, 0, cudaStreamLegacy>>>(&l.slots[0], l.words);
      l.driver.ctx_synchronize();
    });
    MUST(cudaGetLastError());
    LookAt<<<1, 1, 0, stream[0]>>>(&l.slots[0], l.words);
    LookAt<<<1, 1, 0, stream[1]>>>(&l.slots[0], l.words);
    MUST(cudaDeviceSynchronize());
  }
  static Greens& Of(Lab& l) {
    static Greens greens(l);
    return greens;
  }

  CUgreenCtx Make(int i) {
    CUdevResourceDesc description;
    Ok(describe(&description, &groups[i], 1), "cuDevResourceGenerateDesc");
    CUgreenCtx made;
    Ok(create(&made, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
    return made;
  }
  CUstream Stream(int i) { return StreamOf(green[i]); }
  CUstream StreamOf(CUgreenCtx of) {
    CUstream made;
    Ok(stream_create(&made, of, CU_STREAM_NON_BLOCKING, 0), "cuGreenCtxStreamCreate");
    return made;
  }
  template <typename F>
  void In(Lab& l, CUcontext current, F f) {
    CUcontext before = nullptr;
    l.driver.ctx_get_current(&before);
    Ok(l.driver.ctx_set_current(current), "cuCtxSetCurrent");
    f();
    l.driver.ctx_set_current(before);
  }
  void Record(CUcontext of, CUevent e) { Ok(record(of, e), "cuCtxRecordEvent"); }
  void Wait(CUcontext of, CUevent e) { Ok(wait(of, e), "cuCtxWaitEvent"); }

  decltype(&cuGreenCtxCreate) create;
  decltype(&cuGreenCtxDestroy) destroy;
  decltype(&cuCtxFromGreenCtx) from_green;
  decltype(&cuGreenCtxStreamCreate) stream_create;
  decltype(&cuGreenCtxRecordEvent) green_record;
  decltype(&cuGreenCtxWaitEvent) green_wait;
  decltype(&cuCtxRecordEvent) record;
  decltype(&cuCtxWaitEvent) wait;
  decltype(&cuDeviceGetDevResource) device_resource;
  decltype(&cuDevSmResourceSplitByCount) split;
  decltype(&cuDevResourceGenerateDesc) describe;
  decltype(&cuStreamGetCtx) stream_context;
  decltype(&cuStreamBeginCapture) begin_capture;
  decltype(&cuStreamEndCapture) end_capture;
  decltype(&cuEventCreate) event_create;
  decltype(&cuStreamCreate) plain_stream;
  decltype(&cuStreamGetFlags) stream_flags;
  decltype(&cuMemAlloc) alloc;
  decltype(&cuMemFree) free;

  CUdevResource groups[2];
  CUcontext primary = nullptr, context[2] = {}, again = nullptr;
  CUgreenCtx green[2] = {};
  CUstream stream[2] = {};
  CUstream blocking = nullptr;  // made with the first green context current

 private:
  template <typename F>
  static void Find(const char* name, F* f, int version = 12050) {
    cudaDriverEntryPointQueryResult found;
    MUST(cudaGetDriverEntryPointByVersion(name, reinterpret_cast<void**>(f), version,
                                          cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) throw std::runtime_error(std::string("no ") + name);
  }
  static void Ok(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS)
      throw std::runtime_error(std::string(what) + ": " + std::to_string(result));
  }
};

// c waits for the event and looks.
inline std::string SeenBehind(Lab& l, Event& e) {
  e.MakeWait(l.c);
  l.Look(l.c);
  return l.Seen();
}

// Work of `from` is recorded over `of`.
inline std::string RecordOver(Lab& l, CUcontext of, cudaStream_t from) {
  Greens& g = Greens::Of(l);
  Event e(cudaEventDisableTiming);
  l.Busy(from);
  g.Record(of, e);
  return SeenBehind(l, e);
}

// `of` waits for the work of a.
inline Greens& HoldUp(Lab& l, CUcontext of, Event& e) {
  Greens& g = Greens::Of(l);
  l.Busy(l.a);
  e.Record(l.a);
  g.Wait(of, e);
  return g;
}

// ... and `to` looks.
inline std::string WaitOver(Lab& l, CUcontext of, cudaStream_t to) {
  Event e(cudaEventDisableTiming);
  HoldUp(l, of, e);
  l.Look(to);
  return l.Seen();
}

// What a call answers while `stream` captures, and what the capture's end answers then.
template <typename F>
std::string WhileCapturing(Lab& l, cudaStream_t stream, F call) {
  Greens& g = Greens::Of(l);
  CUgraph graph = nullptr;
  g.begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUresult answer = call(g);
  const CUresult end = g.end_capture(stream, &graph);
  cudaGetLastError();
  return std::to_string(answer) + ", end " + std::to_string(end);
}

inline std::string Same(bool same) { return same ? "same" : "other"; }

inline std::string DestroyedWhileBusy(Lab& l, bool look) {
  Greens& g = Greens::Of(l);
  CUgreenCtx green = g.Make(1);
  CUstream stream = g.StreamOf(green);
  l.Busy(stream);
  cudaStreamDestroy(stream);
  const CUresult result = g.destroy(green);
  if (result != CUDA_SUCCESS) return "error " + std::to_string(result);
  if (!look) return l.Returned();
  l.Look(l.b);
  return l.Seen();
}

inline std::string MemoryOfDestroyed(Lab& l) {
  Greens& g = Greens::Of(l);
  CUgreenCtx green = g.Make(1);
  CUcontext context;
  g.from_green(&context, green);
  CUdeviceptr block = 0;
  CUresult made = CUDA_SUCCESS;
  g.In(l, context, [&] { made = g.alloc(&block, 4096); });
  g.destroy(green);
  return "alloc " + std::to_string(made) + ", free " + std::to_string(g.free(block));
}

const Probe kContextProbes[] = {
    {"15", "green busy, then non-blocking of the primary context", "before",
     [](Lab& l) {
       l.Busy(Greens::Of(l).stream[0]);
       l.Look(l.b);
       return l.Seen();
     }},
    {"15", "green busy, then another green context", "before",
     [](Lab& l) {
       l.Busy(Greens::Of(l).stream[0]);
       l.Look(Greens::Of(l).stream[1]);
       return l.Seen();
     }},
    {"15", "cuCtxRecordEvent(primary): non-blocking busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).primary, l.a); }},
    {"15", "cuCtxRecordEvent(primary): blocking busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).primary, l.p); }},
    {"15", "cuCtxRecordEvent(primary): legacy busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).primary, cudaStreamLegacy); }},
    {"15", "cuCtxRecordEvent(primary): per-thread busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).primary, cudaStreamPerThread); }},
    {"15", "cuCtxRecordEvent(primary): per-thread of another thread busy", "after",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       {
         Waiter t([&] { l.Busy(cudaStreamPerThread); });
       }
       g.Record(g.primary, e);
       return SeenBehind(l, e);
     }},
    {"15", "cuCtxRecordEvent(primary): green busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).primary, Greens::Of(l).stream[0]); }},
    {"15", "cuCtxRecordEvent(green): that green busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).context[0], Greens::Of(l).stream[0]); }},
    {"15", "cuCtxRecordEvent(green): non-blocking of the primary busy", "before",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).context[0], l.a); }},
    {"15", "cuCtxRecordEvent(green): another green busy", "before",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).context[0], Greens::Of(l).stream[1]); }},
    {"15", "cuGreenCtxRecordEvent: that green busy", "after",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       l.Busy(g.stream[0]);
       if (g.green_record(g.green[0], e) != CUDA_SUCCESS) return std::string("error");
       return SeenBehind(l, e);
     }},
    {"15", "cuCtxRecordEvent(primary), and work queued after it", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       g.Record(g.primary, e);
       l.Busy(l.a);
       return SeenBehind(l, e);
     }},
    {"15", "cuCtxRecordEvent(primary) alone between two non-blocking streams", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       l.Busy(l.a);
       g.Record(g.primary, e);
       l.Look(l.b);
       return l.Seen();
     }},
    {"15", "cuCtxRecordEvent(primary) alone between two blocking streams", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       l.Busy(l.p);
       g.Record(g.primary, e);
       l.Look(l.q);
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(primary) for a complete event between two blocking streams", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       e.Record(l.a);
       MUST(cudaEventSynchronize(e));
       l.Busy(l.p);
       g.Wait(g.primary, e);
       l.Look(l.q);
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(primary) for an event never recorded", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       l.Busy(l.a);
       g.Wait(g.primary, e);
       l.Look(l.b);
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(primary): non-blocking", "after",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).primary, l.b); }},
    {"15", "cuCtxWaitEvent(primary): blocking", "after",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).primary, l.p); }},
    {"15", "cuCtxWaitEvent(primary): legacy", "after",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).primary, cudaStreamLegacy); }},
    {"15", "cuCtxWaitEvent(primary): per-thread", "after",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).primary, cudaStreamPerThread); }},
    {"15", "cuCtxWaitEvent(primary): per-thread of a thread that begins later", "after",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       HoldUp(l, Greens::Of(l).primary, e);
       {
         Waiter t([&] { l.Look(cudaStreamPerThread); });
       }
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(primary): non-blocking stream made later", "after",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       HoldUp(l, Greens::Of(l).primary, e);
       cudaStream_t made;
       MUST(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
       l.Look(made);
       std::string seen = l.Seen();
       cudaStreamDestroy(made);
       return seen;
     }},
    {"15", "cuCtxWaitEvent(primary): green", "after",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).primary, Greens::Of(l).stream[0]); }},
    {"15", "cuCtxWaitEvent(primary): green context made later", "after",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       Greens& g = HoldUp(l, Greens::Of(l).primary, e);
       CUgreenCtx green = g.Make(1);
       CUstream made = g.StreamOf(green);
       l.Look(made);
       std::string seen = l.Seen();
       cudaStreamDestroy(made);
       g.destroy(green);
       return seen;
     }},
    {"15", "cuCtxWaitEvent(primary): another full context", "before",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       HoldUp(l, Greens::Of(l).primary, e);
       l.InSecondContext([&] {
         LookAt<<<1, 1, 0, cudaStreamLegacy>>>(&l.slots[kWords], &l.slots[0].done);
         l.driver.ctx_synchronize();
       });
       return std::string(l.slots[kWords].seen ? "after" : "before");
     }},
    {"15", "cuCtxWaitEvent(green): that green", "after",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).context[0], Greens::Of(l).stream[0]); }},
    {"15", "cuCtxWaitEvent(green): its default stream", "after",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       Greens& g = HoldUp(l, Greens::Of(l).context[0], e);
       g.In(l, g.context[0], [&] { l.Look(cudaStreamLegacy); });
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(green): a stream of it made later", "after",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       Greens& g = HoldUp(l, Greens::Of(l).context[0], e);
       CUstream made = g.Stream(0);
       l.Look(made);
       std::string seen = l.Seen();
       cudaStreamDestroy(made);
       return seen;
     }},
    {"15", "cuCtxWaitEvent(green): non-blocking of the primary", "before",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).context[0], l.b); }},
    {"15", "cuCtxWaitEvent(green): another green", "before",
     [](Lab& l) { return WaitOver(l, Greens::Of(l).context[0], Greens::Of(l).stream[1]); }},
    {"15", "cuGreenCtxWaitEvent: that green", "after",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       l.Busy(l.a);
       e.Record(l.a);
       if (g.green_wait(g.green[0], e) != CUDA_SUCCESS) return std::string("error");
       l.Look(g.stream[0]);
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(primary), event recorded again after it", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       e.Record(l.a);
       g.Wait(g.primary, e);
       l.Busy(l.a);
       e.Record(l.a);
       l.Look(l.b);
       return l.Seen();
     }},
    {"15", "recorded over the primary context, then the context waits", "after",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       l.Busy(l.a);
       g.Record(g.primary, e);
       g.Wait(g.primary, e);
       l.Look(l.b);
       return l.Seen();
     }},
    {"15", "cuCtxWaitEvent(primary), then cudaEventRecord on an idle stream: host", "waits",
     [](Lab& l) {
       Event e(cudaEventDisableTiming), f(cudaEventDisableTiming);
       HoldUp(l, Greens::Of(l).primary, e);
       f.Record(l.b);
       MUST(cudaEventSynchronize(f));
       return l.Returned();
     }},
    {"15", "cuCtxWaitEvent(green), then cuCtxRecordEvent(green): host", "waits",
     [](Lab& l) {
       Event e(cudaEventDisableTiming), f(cudaEventDisableTiming);
       Greens& g = HoldUp(l, Greens::Of(l).context[0], e);
       g.Record(g.context[0], f);
       MUST(cudaEventSynchronize(f));
       return l.Returned();
     }},
    {"15", "cuCtxWaitEvent(primary), then synchronise an idle stream: host", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       HoldUp(l, Greens::Of(l).primary, e);
       MUST(cudaStreamSynchronize(l.b));
       return l.Returned();
     }},
    {"15", "cuCtxSynchronize, primary current, green busy: host", "waits",
     [](Lab& l) {
       l.Busy(Greens::Of(l).stream[0]);
       l.driver.ctx_synchronize();
       return l.Returned();
     }},
    {"15", "cuCtxSynchronize, green current, that green busy: host", "waits",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(g.stream[0]);
       g.In(l, g.context[0], [&] { l.driver.ctx_synchronize(); });
       return l.Returned();
     }},
    {"15", "cuCtxSynchronize, green current, the primary busy: host", "early",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(l.a);
       g.In(l, g.context[0], [&] { l.driver.ctx_synchronize(); });
       return l.Returned();
     }},
    {"15", "cuCtxSynchronize, green current, another green busy: host", "early",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(g.stream[1]);
       g.In(l, g.context[0], [&] { l.driver.ctx_synchronize(); });
       return l.Returned();
     }},
    {"15", "blocking of the primary busy, then green's default stream", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(l.p);
       g.In(l, g.context[0], [&] { l.Look(cudaStreamLegacy); });
       return l.Seen();
     }},
    {"15", "legacy of the primary busy, then green's default stream", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(cudaStreamLegacy);
       g.In(l, g.context[0], [&] { l.Look(cudaStreamLegacy); });
       return l.Seen();
     }},
    {"15", "green's default stream busy, then blocking of the primary", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       g.In(l, g.context[0], [&] { l.Busy(cudaStreamLegacy); });
       l.Look(l.p);
       return l.Seen();
     }},
    {"15", "stream made by cuStreamCreate(0) in green busy, then green's default stream", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(g.blocking);
       g.In(l, g.context[0], [&] { l.Look(cudaStreamLegacy); });
       return l.Seen();
     }},
    {"15", "stream made by cuStreamCreate(0) in green busy, then legacy of the primary", "before",
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       l.Busy(g.blocking);
       l.Look(cudaStreamLegacy);
       return l.Seen();
     }},
    {"15", "flags of a stream made by cuStreamCreate(0) in green", nullptr,
     [](Lab& l) {
       unsigned flags = ~0u;
       Greens& g = Greens::Of(l);
       g.stream_flags(g.blocking, &flags);
       return std::to_string(flags);
     }},
    {"15", "green's default stream busy, then a stream made by cuStreamCreate(0) in green", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       g.In(l, g.context[0], [&] { l.Busy(cudaStreamLegacy); });
       l.Look(g.blocking);
       return l.Seen();
     }},
    {"15", "cuCtxRecordEvent(green): its stream made by cuStreamCreate(0) busy", "after",
     [](Lab& l) { return RecordOver(l, Greens::Of(l).context[0], Greens::Of(l).blocking); }},
    {"15", "cuCtxWaitEvent(green), then cuCtxSynchronize of that green, idle: host", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       Greens& g = HoldUp(l, Greens::Of(l).context[0], e);
       g.In(l, g.context[0], [&] { l.driver.ctx_synchronize(); });
       return l.Returned();
     }},
    {"15", "cuGreenCtxDestroy with work pending: host", nullptr,
     [](Lab& l) { return DestroyedWhileBusy(l, false); }},
    {"15", "cuGreenCtxDestroy with work pending, then another stream", nullptr,
     [](Lab& l) { return DestroyedWhileBusy(l, true); }},
    {"15", "memory allocated with a green context current, after its end", nullptr,
     MemoryOfDestroyed},
    {"15", "cuCtxFromGreenCtx twice", nullptr,
     [](Lab& l) { return Same(Greens::Of(l).again == Greens::Of(l).context[0]); }},
    {"15", "cuCtxFromGreenCtx and the CUgreenCtx itself", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       return Same(static_cast<void*>(g.context[0]) == static_cast<void*>(g.green[0]));
     }},
    {"15", "cuCtxFromGreenCtx and the primary context", nullptr,
     [](Lab& l) { return Same(Greens::Of(l).context[0] == Greens::Of(l).primary); }},
    {"15", "cuStreamGetCtx of a green stream and cuCtxFromGreenCtx", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       CUcontext of = nullptr;
       g.stream_context(g.stream[0], &of);
       return Same(of == g.context[0]);
     }},
    {"15", "cuCtxGetCurrent after a green one was made current, and cuCtxFromGreenCtx", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       CUcontext now = nullptr;
       g.In(l, g.context[0], [&] { l.driver.ctx_get_current(&now); });
       return Same(now == g.context[0]);
     }},
    {"15", "per-thread stream with a green context current", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       cudaError_t error = cudaSuccess;
       g.In(l, g.context[0], [&] {
         LookAt<<<1, 1, 0, cudaStreamPerThread>>>(&l.slots[kWords], l.words);
         error = cudaGetLastError();
       });
       return std::string(cudaGetErrorName(error));
     }},
    {"15", "event of the primary recorded over green", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       Event e(cudaEventDisableTiming);
       return std::to_string(g.green_record(g.green[0], e));
     }},
    {"15", "event made with green current, recorded over the primary", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       CUevent e = nullptr;
       g.In(l, g.context[0], [&] { g.event_create(&e, CU_EVENT_DISABLE_TIMING); });
       return std::to_string(g.record(g.primary, e));
     }},
    {"15", "event of another full context recorded over the primary", nullptr,
     [](Lab& l) {
       Greens& g = Greens::Of(l);
       CUevent e = nullptr;
       l.InSecondContext([&] { g.event_create(&e, CU_EVENT_DISABLE_TIMING); });
       return std::to_string(g.record(g.primary, e));
     }},
    {"15", "a captures, cuCtxRecordEvent(primary)", "900, end 901",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       return WhileCapturing(l, l.a, [&](Greens& g) { return g.record(g.primary, e); });
     }},
    {"15", "a captures, cuCtxWaitEvent(primary)", "900, end 901",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       e.Record(l.b);
       return WhileCapturing(l, l.a, [&](Greens& g) { return g.wait(g.primary, e); });
     }},
    {"15", "a captures, cuGreenCtxRecordEvent", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       return WhileCapturing(l, l.a, [&](Greens& g) { return g.green_record(g.green[0], e); });
     }},
    {"15", "a captures, cuGreenCtxWaitEvent", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       e.Record(l.b);
       return WhileCapturing(l, l.a, [&](Greens& g) { return g.green_wait(g.green[0], e); });
     }},
    {"15", "a green stream captures, cuGreenCtxRecordEvent", "900, end 901",
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       return WhileCapturing(l, Greens::Of(l).stream[0],
                             [&](Greens& g) { return g.green_record(g.green[0], e); });
     }},
    {"15", "a green stream captures, cuCtxRecordEvent(primary)", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       return WhileCapturing(l, Greens::Of(l).stream[0],
                             [&](Greens& g) { return g.record(g.primary, e); });
     }},
    {"15", "a green stream captures, cuCtxRecordEvent(another green)", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       return WhileCapturing(l, Greens::Of(l).stream[0],
                             [&](Greens& g) { return g.record(g.context[1], e); });
     }},
    {"15", "a captures and recorded the event, cuGreenCtxWaitEvent", nullptr,
     [](Lab& l) {
       Event e(cudaEventDisableTiming);
       return WhileCapturing(l, l.a, [&](Greens& g) {
         e.Record(l.a);
         return g.green_wait(g.green[0], e);
       });
     }},
};

}  // namespace probes
