// Rules 9, 10, 12: copies, memsets, host functions, the CPU's own accesses.
#pragma once

#include "order_probes.h"

namespace probes {

constexpr size_t kSmall = 4096, kJustUnder = 60 << 10, kMid = 1 << 20, kLarge = 32 << 20;
constexpr auto kH2D = cudaMemcpyHostToDevice;
constexpr auto kD2H = cudaMemcpyDeviceToHost;
constexpr auto kD2D = cudaMemcpyDeviceToDevice;
constexpr auto kH2H = cudaMemcpyHostToHost;

// An asynchronous copy behind a busy kernel: does the call return before the kernel ended?
inline std::string Async(Lab& l, void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  l.Busy(l.a);
  MUST(cudaMemcpyAsync(to, from, n, kind, l.a));
  return l.Returned();
}

// The blocking form, with the stream that it runs on (legacy) busy.
inline std::string Blocking(Lab& l, void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  l.Busy(cudaStreamLegacy);
  MUST(cudaMemcpy(to, from, n, kind));
  return l.Returned();
}

// Overwrites the source as soon as the call returned. "old" = the copy had taken every byte before,
// "new" = it took them later, "torn" = some.
inline std::string SourceReused(Lab& l, char* from, size_t n, bool wait_first = false) {
  memset(from, 1, n);
  l.Busy(l.a);
  MUST(cudaMemcpyAsync(l.dev, from, n, kH2D, l.a));
  if (wait_first) MUST(cudaStreamSynchronize(l.a));
  memset(from, 2, n);
  MUST(cudaDeviceSynchronize());
  std::vector<char> got(n);
  MUST(cudaMemcpy(got.data(), l.dev, n, kD2H));
  size_t fresh = 0;
  for (char byte : got) fresh += byte == 2;
  return fresh == 0 ? "old" : fresh == n ? "new" : "torn";
}

// The producer's word is the last one copied; is it in the host buffer when the call returned?
inline std::string ArrivedAtReturn(Lab& l, char* to, size_t n, bool blocking) {
  int* last = reinterpret_cast<int*>(l.dev + n - 4);
  volatile int* arrived = reinterpret_cast<volatile int*>(to + n - 4);
  *arrived = 0;
  l.Busy(blocking ? cudaStreamLegacy : l.a, 0, last);
  MUST(blocking ? cudaMemcpy(to, l.dev, n, kD2H) : cudaMemcpyAsync(to, l.dev, n, kD2H, l.a));
  return *arrived == kValue ? "new" : "old";
}

inline std::string HostToHost(Lab& l, char* to, char* from) {
  from[0] = 7;
  to[0] = 0;
  l.Busy(l.a);
  MUST(cudaMemcpyAsync(to, from, kSmall, kH2H, l.a));
  const bool arrived = static_cast<volatile char*>(to)[0] == 7;
  return l.Returned() + (arrived ? ", copied" : ", not copied");
}

// Nothing busy: has the device finished when the call returns?
inline std::string InFlight(Lab& l, char* from, bool blocking) {
  const cudaStream_t s = blocking ? cudaStreamLegacy : l.a;
  MUST(blocking ? cudaMemcpy(l.dev, from, kBig, kH2D)
                : cudaMemcpyAsync(l.dev, from, kBig, kH2D, l.a));
  return ReadyOr(cudaStreamQuery(s));
}

inline std::string D2DThenOtherStream(Lab& l) {
  l.Busy(cudaStreamLegacy);
  MUST(cudaMemcpy(l.dev2, l.dev, kMid, kD2D));
  l.Look(l.a);
  return l.Seen();
}

// Marks `dev` so that cudaMemcpy and cudaMemset on it are to synchronise always.
inline std::string MarkedD2D(Lab& l) {
  char* marked = nullptr;
  MUST(cudaMalloc(&marked, kLarge));
  const unsigned on = 1;
  const auto at = reinterpret_cast<CUdeviceptr>(marked);
  if (l.driver.pointer_set_attribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at) != CUDA_SUCCESS)
    throw std::runtime_error("cuPointerSetAttribute");
  l.Busy(cudaStreamLegacy);
  MUST(cudaMemcpy(marked, l.dev, kSmall, kD2D));
  std::string seen = l.Returned();
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(marked));
  return seen;
}

inline std::string RegisteredCopy(Lab& l) {
  MUST(cudaHostRegister(l.paged, kLarge, cudaHostRegisterDefault));
  std::string seen = Async(l, l.dev, l.paged, kLarge, kH2D);
  MUST(cudaDeviceSynchronize());
  MUST(cudaHostUnregister(l.paged));
  return seen;
}

// A producer that runs on the CPU: as late as the kernels are.
struct Late {
  uint64_t delay_ns;
  volatile int* word;
};
inline void Later(void* late) {
  const auto* l = static_cast<Late*>(late);
  std::this_thread::sleep_for(std::chrono::nanoseconds(l->delay_ns));
  *l->word = kValue;
}
inline void CopyFlag(void* slots) {
  auto* s = static_cast<Slot*>(slots);
  s[kWords].seen = s[0].done ? kValue : 0;
}

// The host function is the producer.
inline std::string BehindHostFunction(Lab& l, cudaStream_t consumer) {
  Late late = {l.delay_ns(), &l.slots[2].seen};
  MUST(cudaLaunchHostFunc(l.a, Later, &late));
  LookAt<<<1, 1, 0, consumer>>>(&l.slots[kWords], late.word);
  return l.Seen();
}

inline std::string HostFunctionBehind(Lab& l, cudaStream_t s) {
  l.Busy(l.a);
  MUST(cudaLaunchHostFunc(s, CopyFlag, l.slots));
  return l.Seen();
}

inline std::string CallbackBehind(Lab& l) {
  l.Busy(l.a);
  MUST(cudaStreamAddCallback(
      l.a, [](cudaStream_t, cudaError_t, void* slots) { CopyFlag(slots); }, l.slots, 0));
  return l.Seen();
}

// b's function is alone in its stream; a's sleeps. One thread runs both, or two do.
inline std::string TwoHostFunctions(Lab& l) {
  Late late = {l.delay_ns(), &l.slots[0].done};
  MUST(cudaLaunchHostFunc(l.a, Later, &late));
  MUST(cudaLaunchHostFunc(l.b, CopyFlag, l.slots));
  return l.Seen();
}

inline std::string CpuRead(Lab& l, cudaError_t (*wait)(Lab&)) {
  auto* host = reinterpret_cast<volatile int*>(l.pinned);
  *host = 0;
  l.Busy(l.a);
  MUST(cudaMemcpyAsync(l.pinned, l.words, 4, kD2H, l.a));
  MUST(wait(l));
  return *host == kValue ? "new" : "old";
}

const Probe kCopyProbes[] = {
    {"9", "async pinned to device, 4 KiB: host", "early",
     [](Lab& l) { return Async(l, l.dev, l.pinned, kSmall, kH2D); }},
    {"9", "async pinned to device, 32 MiB: host", "early",
     [](Lab& l) { return Async(l, l.dev, l.pinned, kLarge, kH2D); }},
    {"9", "async registered to device, 32 MiB: host", "early", RegisteredCopy},
    {"9", "async device to pinned, 4 KiB: host", "early",
     [](Lab& l) { return Async(l, l.pinned, l.dev, kSmall, kD2H); }},
    {"9", "async device to pinned, 32 MiB: host", "early",
     [](Lab& l) { return Async(l, l.pinned, l.dev, kLarge, kD2H); }},
    {"9", "async device to device: host", "early",
     [](Lab& l) { return Async(l, l.dev2, l.dev, kMid, kD2D); }},
    {"9", "async pageable to device, 4 KiB, stream busy: host", nullptr,
     [](Lab& l) { return Async(l, l.dev, l.paged, kSmall, kH2D); }},
    {"9", "async pageable to device, 60 KiB, stream busy: host", nullptr,
     [](Lab& l) { return Async(l, l.dev, l.paged, kJustUnder, kH2D); }},
    {"9", "async pageable to device, 1 MiB, stream busy: host", nullptr,
     [](Lab& l) { return Async(l, l.dev, l.paged, kMid, kH2D); }},
    {"9", "async pageable to device, 4 MiB, stream busy: host", nullptr,
     [](Lab& l) { return Async(l, l.dev, l.paged, 4 * kMid, kH2D); }},
    {"9", "async pageable to device, 16 MiB, stream busy: host", nullptr,
     [](Lab& l) { return Async(l, l.dev, l.paged, 16 * kMid, kH2D); }},
    {"9", "async pageable to device, 32 MiB, stream busy: host", nullptr,
     [](Lab& l) { return Async(l, l.dev, l.paged, kLarge, kH2D); }},
    {"9", "async pageable to device, 64 MiB, idle: device at return", nullptr,
     [](Lab& l) { return InFlight(l, l.paged, false); }},
    {"9", "async pageable to device, 4 KiB, source overwritten after return: device has", "old",
     [](Lab& l) { return SourceReused(l, l.paged, kSmall); }},
    {"9", "async pageable to device, 60 KiB, source overwritten after return: device has", "old",
     [](Lab& l) { return SourceReused(l, l.paged, kJustUnder); }},
    {"9", "async pageable to device, 1 MiB, source overwritten after return: device has", "old",
     [](Lab& l) { return SourceReused(l, l.paged, kMid); }},
    {"9", "async pageable to device, 32 MiB, source overwritten after return: device has", "old",
     [](Lab& l) { return SourceReused(l, l.paged, kLarge); }},
    {"9", "async device to pageable, 4 KiB: host", "waits",
     [](Lab& l) { return Async(l, l.paged, l.dev, kSmall, kD2H); }},
    {"9", "async device to pageable, 32 MiB: host", "waits",
     [](Lab& l) { return Async(l, l.paged, l.dev, kLarge, kD2H); }},
    {"9", "async device to pageable, 32 MiB: buffer at return", "new",
     [](Lab& l) { return ArrivedAtReturn(l, l.paged, kLarge, false); }},
    {"9", "async pageable to pageable, stream busy", "waits, copied",
     [](Lab& l) { return HostToHost(l, l.paged2, l.paged); }},
    {"9", "async pinned to pinned, stream busy", "waits, copied",
     [](Lab& l) { return HostToHost(l, l.pinned2, l.pinned); }},
    {"9", "async pinned to pageable, stream busy", "waits, copied",
     [](Lab& l) { return HostToHost(l, l.paged2, l.pinned); }},
    {"9", "async pageable to pinned, stream busy", "waits, copied",
     [](Lab& l) { return HostToHost(l, l.pinned2, l.paged); }},
    {"9", "blocking pageable to device, 4 KiB, legacy busy: host", nullptr,
     [](Lab& l) { return Blocking(l, l.dev, l.paged, kSmall, kH2D); }},
    {"9", "blocking pageable to device, 60 KiB, legacy busy: host", nullptr,
     [](Lab& l) { return Blocking(l, l.dev, l.paged, kJustUnder, kH2D); }},
    {"9", "blocking pageable to device, 32 MiB, legacy busy: host", nullptr,
     [](Lab& l) { return Blocking(l, l.dev, l.paged, kLarge, kH2D); }},
    {"9", "blocking pageable to device, 64 MiB, idle: device at return", nullptr,
     [](Lab& l) { return InFlight(l, l.paged, true); }},
    {"9", "blocking pinned to device, 4 KiB, legacy busy: host", "waits",
     [](Lab& l) { return Blocking(l, l.dev, l.pinned, kSmall, kH2D); }},
    {"9", "blocking pinned to device, 32 MiB, legacy busy: host", "waits",
     [](Lab& l) { return Blocking(l, l.dev, l.pinned, kLarge, kH2D); }},
    {"9", "blocking pinned to device, 64 MiB, idle: device at return", "ready",
     [](Lab& l) { return InFlight(l, l.pinned, true); }},
    {"9", "blocking device to pageable, 32 MiB: buffer at return", "new",
     [](Lab& l) { return ArrivedAtReturn(l, l.paged, kLarge, true); }},
    {"9", "blocking device to pinned, 32 MiB: buffer at return", "new",
     [](Lab& l) { return ArrivedAtReturn(l, l.pinned, kLarge, true); }},
    {"9", "blocking device to pageable, non-blocking stream busy: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaMemcpy(l.paged, l.dev, kSmall, kD2H));
       return l.Returned();
     }},
    {"9", "blocking device to pageable, blocking stream busy: host", "waits",
     [](Lab& l) {
       l.Busy(l.p);
       MUST(cudaMemcpy(l.paged, l.dev, kSmall, kD2H));
       return l.Returned();
     }},
    {"9", "blocking device to device, legacy busy: host", "early",
     [](Lab& l) { return Blocking(l, l.dev2, l.dev, kMid, kD2D); }},
    {"9", "blocking device to device, then launch on non-blocking", "before", D2DThenOtherStream},
    {"9", "the same with CU_POINTER_ATTRIBUTE_SYNC_MEMOPS on the target: host", "waits", MarkedD2D},
    {"9", "blocking pageable to pageable, legacy busy: host", "waits",
     [](Lab& l) { return Blocking(l, l.paged2, l.paged, kSmall, kH2H); }},
    {"9", "cudaMemset of device memory, legacy busy: host", "early",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       MUST(cudaMemset(l.dev, 0, kMid));
       return l.Returned();
     }},
    {"9", "cudaMemset of pinned memory, legacy busy: host", "waits",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       MUST(cudaMemset(l.pinned, 0, kSmall));
       return l.Returned();
     }},
    {"9", "cudaMemset of managed memory, legacy busy: host", "waits",
     [](Lab& l) {
       l.Busy(cudaStreamLegacy);
       MUST(cudaMemset(l.managed, 0, kSmall));
       return l.Returned();
     }},
    {"9", "cudaMemsetAsync of device memory: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaMemsetAsync(l.dev, 0, kMid, l.a));
       return l.Returned();
     }},
    {"9", "cudaMemsetAsync of pinned memory: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaMemsetAsync(l.pinned, 0, kSmall, l.a));
       return l.Returned();
     }},
    {"9", "cudaMemsetAsync of managed memory: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaMemsetAsync(l.managed, 0, kSmall, l.a));
       return l.Returned();
     }},
    {"10", "host function behind a kernel of its stream", "after",
     [](Lab& l) { return HostFunctionBehind(l, l.a); }},
    {"10", "host function on another stream", "before",
     [](Lab& l) { return HostFunctionBehind(l, l.b); }},
    {"10", "stream callback behind a kernel of its stream", "after", CallbackBehind},
    {"10", "kernel behind a host function of its stream", "after",
     [](Lab& l) { return BehindHostFunction(l, l.a); }},
    {"10", "kernel on another stream than the host function", "before",
     [](Lab& l) { return BehindHostFunction(l, l.b); }},
    {"10", "host functions on two streams, the first one slow", nullptr, TwoHostFunctions},
    {"10", "cudaLaunchHostFunc, stream busy: host", "early",
     [](Lab& l) {
       l.Busy(l.a);
       MUST(cudaLaunchHostFunc(l.a, CopyFlag, l.slots));
       return l.Returned();
     }},
    {"12", "CPU read behind async device to pinned, no wait", "old",
     [](Lab& l) { return CpuRead(l, [](Lab&) { return cudaSuccess; }); }},
    {"12", "CPU read after synchronising another stream", "old",
     [](Lab& l) { return CpuRead(l, [](Lab& m) { return cudaStreamSynchronize(m.b); }); }},
    {"12", "CPU read after synchronising the stream", "new",
     [](Lab& l) { return CpuRead(l, [](Lab& m) { return cudaStreamSynchronize(m.a); }); }},
    {"12", "CPU read after a query returned success", "new",
     [](Lab& l) {
       return CpuRead(l, [](Lab& m) {
         while (cudaStreamQuery(m.a) == cudaErrorNotReady) {
         }
         return cudaSuccess;
       });
     }},
    {"12", "CPU write to the pinned source, 4 KiB, no wait: device has", "new",
     [](Lab& l) { return SourceReused(l, l.pinned, kSmall); }},
    {"12", "CPU write to the pinned source, 32 MiB, no wait: device has", "new",
     [](Lab& l) { return SourceReused(l, l.pinned, kLarge); }},
    {"12", "CPU write to the pinned source after synchronising: device has", "old",
     [](Lab& l) { return SourceReused(l, l.pinned, kLarge, true); }},
};

}  // namespace probes
