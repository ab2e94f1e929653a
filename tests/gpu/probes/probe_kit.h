// What every probe stands on: a producer kernel that ends late, a consumer kernel that tells what
// it found, and the observations made of them. A probe runs one small program of calls and returns
// one word that says what was seen; the table says what the rule expects.
//
// Two observations:
//  - Device order. The producer writes kValue to a word of device memory as its last act, `delay`
//    after it began; the consumer copies the word to pinned memory. "after" = it saw kValue.
//  - Host order. The producer raises a flag in mapped pinned memory as its last act; the host reads
//    the flag as soon as the call under test returns. "waits" = it was up.
// A delay of 20 ms stands against calls of microseconds, so chance does not decide; each probe is
// repeated all the same, and only unanimous repetitions count as seen.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace probes {

constexpr int kValue = 4711;               // what a finished producer leaves behind
constexpr size_t kBig = size_t{64} << 20;  // bytes of each copy buffer
constexpr int kMaxReps = 8;                // as many as there are kernels that nothing loaded
constexpr int kWords = 8;                  // independent producer/consumer pairs

// In mapped pinned memory: the device's reports, readable by the host while kernels run.
struct Slot {
  volatile int done;
  volatile int seen;
};

inline void Must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(e));
}
#define MUST(call) ::probes::Must((call), #call)

__device__ inline uint64_t Now() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// Bounded by construction: it waits for time to pass, never for another party.
__global__ void Delay(Slot* slot, volatile int* word, int value, uint64_t ns) {
  const uint64_t begin = Now();
  while (Now() - begin < ns) {
  }
  if (word != nullptr) *word = value;
  __threadfence_system();
  slot->done = 1;
}

__global__ void LookAt(Slot* slot, const volatile int* word) {
  slot->seen = *word;
  __threadfence_system();
  slot->done = 1;
}

__global__ void Store(volatile int* word, int value) { *word = value; }

// One kernel a repetition that nothing loads beforehand.
template <int kId>
__global__ void NeverLoaded(Slot* slot) {
  slot->seen = kId;
}

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) { MUST(cudaEventCreateWithFlags(&e_, flags)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  operator cudaEvent_t() const { return e_; }
  void Record(cudaStream_t s) const { MUST(cudaEventRecord(e_, s)); }
  void MakeWait(cudaStream_t s) const { MUST(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_;
};

// The driver entry points that the runtime does not wrap, found as any program may find them.
struct Driver {
  // The form without affinity parameters; cuda.h of CUDA 13 declares only the newest.
  CUresult(CUDAAPI* ctx_create)(CUcontext*, unsigned flags, CUdevice);
  decltype(&cuCtxSetCurrent) ctx_set_current;
  decltype(&cuCtxSynchronize) ctx_synchronize;
  decltype(&cuCtxGetCurrent) ctx_get_current;
  decltype(&cuPointerSetAttribute) pointer_set_attribute;
  decltype(&cuMemAddressReserve) address_reserve;
  decltype(&cuMemAddressFree) address_free;
  decltype(&cuMemCreate) mem_create;
  decltype(&cuMemRelease) mem_release;
  decltype(&cuMemMap) mem_map;
  decltype(&cuMemUnmap) mem_unmap;
  decltype(&cuMemSetAccess) mem_set_access;
};

template <typename F>
void Find(const char* name, F* f) {
  cudaDriverEntryPointQueryResult found;
  MUST(cudaGetDriverEntryPointByVersion(name, reinterpret_cast<void**>(f), 11000, cudaEnableDefault,
                                        &found));
  if (found != cudaDriverEntryPointSuccess) throw std::runtime_error(std::string("no ") + name);
}

// Everything a probe may use. Streams a, b, c are non-blocking, p, q blocking; no probe leaves work
// behind, so they serve them all.
class Lab {
 public:
  explicit Lab(uint64_t delay_ns) : delay_ns_(delay_ns) {
    MUST(cudaHostAlloc(&slots, 2 * kWords * sizeof(Slot), cudaHostAllocPortable));
    MUST(cudaMalloc(&words, kWords * sizeof(int)));
    for (cudaStream_t* s : {&a, &b, &c}) MUST(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (cudaStream_t* s : {&p, &q}) MUST(cudaStreamCreate(s));
    AllocateBuffers();
    FindDriver();
    MUST(cudaGetDeviceCount(&devices));
  }

  // Loads every kernel, touches every buffer: lazy loading synchronises, and would decide probes.
  void WarmUp() {
    Delay<<<1, 1>>>(&slots[0], words, 0, 0);
    LookAt<<<1, 1>>>(&slots[0], words);
    Store<<<1, 1>>>(words, 0);
    for (char* host : {pinned, pinned2, paged, paged2}) {
      MUST(cudaMemcpy(dev, host, kBig, cudaMemcpyHostToDevice));
      MUST(cudaMemcpy(host, dev, kBig, cudaMemcpyDeviceToHost));
    }
    Event e;
    for (cudaStream_t s : {a, b, c, p, q, cudaStreamPerThread}) e.Record(s);
    InSecondContext([&] {
      LookAt<<<1, 1>>>(&slots[0], &slots[1].done);
      driver.ctx_synchronize();
    });
    MUST(cudaDeviceSynchronize());
  }

  void Reset() {
    MUST(cudaDeviceSynchronize());
    memset(static_cast<void*>(slots), 0, 2 * kWords * sizeof(Slot));
    MUST(cudaMemset(words, 0, kWords * sizeof(int)));
    MUST(cudaDeviceSynchronize());
  }

  // Producer i: busy for one delay, then *word = kValue (words[i] unless told otherwise).
  void Busy(cudaStream_t s, int i = 0, int* word = nullptr) {
    Delay<<<1, 1, 0, s>>>(&slots[i], word ? word : words + i, kValue, delay_ns_);
    MUST(cudaGetLastError());
  }
  // Consumer i of producer i.
  void Look(cudaStream_t s, int i = 0) {
    LookAt<<<1, 1, 0, s>>>(&slots[kWords + i], words + i);
    MUST(cudaGetLastError());
  }
  // What consumer i found. Waits for the device, so it comes last.
  std::string Seen(int i = 0) {
    MUST(cudaDeviceSynchronize());
    return slots[kWords + i].seen == kValue ? "after" : "before";
  }
  // Whether producer i had ended when the call just made returned. The next statement after it.
  std::string Returned(int i = 0) const { return slots[i].done ? "waits" : "early"; }

  // Waits without any CUDA call, so that nothing but the device's own progress is learned.
  void SpinUntilDone(int i = 0) const {
    while (!slots[i].done) std::this_thread::yield();
    Sleep(1);
  }
  uint64_t delay_ns() const { return delay_ns_; }
  static void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

  template <typename F>
  void InSecondContext(F f) {
    CUcontext primary = nullptr;
    if (second == nullptr) CreateSecond();
    driver.ctx_get_current(&primary);
    driver.ctx_set_current(second);
    f();
    driver.ctx_set_current(primary);
  }

  Slot* slots = nullptr;
  int* words = nullptr;
  cudaStream_t a, b, c, p, q;
  char *dev, *dev2, *pinned, *pinned2, *paged, *paged2;
  int* managed = nullptr;
  CUcontext second = nullptr;
  Driver driver = {};
  int devices = 0;
  int rep = 0;

 private:
  void AllocateBuffers() {
    for (char** d : {&dev, &dev2}) MUST(cudaMalloc(d, kBig));
    for (char** h : {&pinned, &pinned2}) MUST(cudaHostAlloc(h, kBig, cudaHostAllocDefault));
    for (char** h : {&paged, &paged2}) *h = static_cast<char*>(malloc(kBig));
    for (char* h : {pinned, pinned2, paged, paged2}) memset(h, 1, kBig);
    MUST(cudaMallocManaged(&managed, 65536));
  }
  void FindDriver() {
    Find("cuCtxCreate", &driver.ctx_create);
    Find("cuCtxSetCurrent", &driver.ctx_set_current);
    Find("cuCtxSynchronize", &driver.ctx_synchronize);
    Find("cuCtxGetCurrent", &driver.ctx_get_current);
    Find("cuPointerSetAttribute", &driver.pointer_set_attribute);
    Find("cuMemAddressReserve", &driver.address_reserve);
    Find("cuMemAddressFree", &driver.address_free);
    Find("cuMemCreate", &driver.mem_create);
    Find("cuMemRelease", &driver.mem_release);
    Find("cuMemMap", &driver.mem_map);
    Find("cuMemUnmap", &driver.mem_unmap);
    Find("cuMemSetAccess", &driver.mem_set_access);
  }
  // cuCtxCreate makes the new context current; the primary one is put back.
  void CreateSecond() {
    CUcontext primary = nullptr;
    driver.ctx_get_current(&primary);
    if (driver.ctx_create(&second, 0, 0) != CUDA_SUCCESS) throw std::runtime_error("cuCtxCreate");
    driver.ctx_set_current(primary);
  }

  uint64_t delay_ns_;
};

// `expected` is what the rule says; nullptr where the rule takes no edge because NVIDIA says "may":
// then either answer agrees, and the table shows which one this machine gave.
struct Probe {
  const char* rule;
  const char* text;
  const char* expected;
  std::string (*run)(Lab&);
};

}  // namespace probes
