// Rules 16 and 17: allocation, free, stream-ordered pools.
#pragma once

#include "order_probes.h"

namespace probes {

constexpr size_t kBlock = size_t{32} << 20;

// Does a thread inside cudaFree hold up another thread's launch?
inline std::string LaunchDuringFree(Lab& l) {
  void* block = nullptr;
  MUST(cudaMalloc(&block, kBlock));
  l.Busy(l.a);
  Waiter t([block] { cudaFree(block); });
  l.Look(l.b);
  return "host " + l.Returned() + ", use " + l.Seen();
}

// Runs one call with `busy` working on something unrelated. The call frees nothing that is in use.
template <typename F>
std::string CallWhileBusy(Lab& l, cudaStream_t busy, F call) {
  l.Busy(busy);
  call();
  return l.Returned();
}

inline std::string FreeWhileBusy(Lab& l, cudaStream_t busy, size_t bytes) {
  void* block = nullptr;
  MUST(cudaMalloc(&block, bytes));
  return CallWhileBusy(l, busy, [&] { MUST(cudaFree(block)); });
}

inline std::string MallocWhileBusy(Lab& l, size_t bytes) {
  void* block = nullptr;
  std::string seen = CallWhileBusy(l, l.a, [&] { MUST(cudaMalloc(&block, bytes)); });
  MUST(cudaFree(block));
  return seen;
}

inline std::string FreeHostWhileBusy(Lab& l, cudaStream_t busy, size_t bytes) {
  void* block = nullptr;
  MUST(cudaHostAlloc(&block, bytes, cudaHostAllocDefault));
  return CallWhileBusy(l, busy, [&] { MUST(cudaFreeHost(block)); });
}

inline std::string HostAllocWhileBusy(Lab& l) {
  void* block = nullptr;
  std::string seen =
      CallWhileBusy(l, l.a, [&] { MUST(cudaHostAlloc(&block, kBlock, cudaHostAllocDefault)); });
  MUST(cudaFreeHost(block));
  return seen;
}

inline std::string RegisterWhileBusy(Lab& l) {
  std::string seen = CallWhileBusy(l, l.a, [&] { MUST(cudaHostRegister(l.paged, kBlock, 0)); });
  MUST(cudaHostUnregister(l.paged));
  return seen;
}

inline std::string UnregisterWhileBusy(Lab& l) {
  MUST(cudaHostRegister(l.paged, kBlock, 0));
  return CallWhileBusy(l, l.a, [&] { MUST(cudaHostUnregister(l.paged)); });
}

// A range with physical memory mapped into it.
class Mapping {
 public:
  explicit Mapping(const Driver& driver) : driver_(driver) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    Take(driver_.address_reserve(&base_, kBlock, 0, 0, 0));
    Take(driver_.mem_create(&memory_, kBlock, &prop, 0));
    Take(driver_.mem_map(base_, kBlock, 0, memory_, 0));
    Take(driver_.mem_set_access(base_, kBlock, &access, 1));
  }
  ~Mapping() {
    driver_.mem_release(memory_);
    driver_.address_free(base_, kBlock);
  }
  Mapping(const Mapping&) = delete;
  void Unmap() const { Take(driver_.mem_unmap(base_, kBlock)); }
  int* word() const { return reinterpret_cast<int*>(base_); }

 private:
  static void Take(CUresult result) {
    if (result != CUDA_SUCCESS) throw std::runtime_error("virtual memory management");
  }
  const Driver& driver_;
  CUdeviceptr base_ = 0;
  CUmemGenericAllocationHandle memory_ = 0;
};

// What keeps the device busy does not touch the mapping: a kernel that did would fault where the
// call does not wait.
inline std::string UnmapWhileBusy(Lab& l, cudaStream_t busy, bool used_before) {
  Mapping mapping(l.driver);
  if (used_before) Store<<<1, 1, 0, busy>>>(mapping.word(), kValue);
  l.Busy(busy);
  mapping.Unmap();
  const std::string seen = l.Returned();
  MUST(cudaDeviceSynchronize());
  return seen;
}

inline std::string MapWhileBusy(Lab& l) {
  l.Busy(l.a);
  Mapping mapping(l.driver);
  const std::string seen = l.Returned();
  MUST(cudaDeviceSynchronize());
  mapping.Unmap();
  return seen;
}

inline std::string AddressComesBack(Lab&) {
  void *first = nullptr, *second = nullptr;
  MUST(cudaMalloc(&first, kBlock));
  MUST(cudaFree(first));
  MUST(cudaMalloc(&second, kBlock));
  MUST(cudaFree(second));
  return first == second ? "same address" : "other address";
}

enum Reuse { kNone = 0, kFollow = 1, kOpportunistic = 2, kInternal = 4, kAll = 7 };

// A pool of its own, so that no probe meets another one's blocks. `limit` = 0: may grow.
class Pool {
 public:
  Pool(int reuse, size_t limit) {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = limit;
    MUST(cudaMemPoolCreate(&pool_, &props));
    Set(cudaMemPoolReuseFollowEventDependencies, reuse & kFollow ? 1 : 0);
    Set(cudaMemPoolReuseAllowOpportunistic, reuse & kOpportunistic ? 1 : 0);
    Set(cudaMemPoolReuseAllowInternalDependencies, reuse & kInternal ? 1 : 0);
    uint64_t keep = UINT64_MAX;
    MUST(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
  }
  ~Pool() {
    cudaDeviceSynchronize();
    cudaMemPoolDestroy(pool_);
  }
  Pool(const Pool&) = delete;
  int* Alloc(cudaStream_t s) {
    void* block = nullptr;
    MUST(cudaMallocFromPoolAsync(&block, kBlock, pool_, s));
    return static_cast<int*>(block);
  }
  // A block that the pool has mapped and the device does not use.
  int* AllocIdle(cudaStream_t s) {
    int* block = Alloc(s);
    MUST(cudaStreamSynchronize(s));
    return block;
  }

 private:
  void Set(cudaMemPoolAttr attr, int on) { MUST(cudaMemPoolSetAttribute(pool_, attr, &on)); }
  cudaMemPool_t pool_;
};

inline void FreeOn(cudaStream_t s, void* block) { MUST(cudaFreeAsync(block, s)); }
inline std::string Where(const int* x, const int* y) {
  return x == y ? "same address" : "other address";
}

inline std::string PoolAllocReturns(Lab& l) {
  Pool pool(kAll, 0);
  l.Busy(l.a);
  int* block = pool.Alloc(l.a);
  std::string seen = l.Returned();
  FreeOn(l.a, block);
  return seen;
}

inline std::string PoolFreeReturns(Lab& l) {
  Pool pool(kAll, 0);
  int* block = pool.AllocIdle(l.a);
  l.Busy(l.a);
  FreeOn(l.a, block);
  return l.Returned();
}

// The blocking free on a block of a pool, with the block's own stream busy.
inline std::string PoolBlockingFree(Lab& l) {
  Pool pool(kAll, 0);
  int* block = pool.AllocIdle(l.a);
  l.Busy(l.a, 0, block);
  MUST(cudaFree(block));
  return l.Returned();
}

// A free on the legacy stream is an operation of it (rule 4): a barrier between p and q?
inline std::string PoolFreeOnLegacy(Lab& l) {
  Pool pool(kAll, 0);
  int* block = pool.AllocIdle(cudaStreamLegacy);
  return BarrierBetweenBlocking(l, [&] { FreeOn(cudaStreamLegacy, block); });
}

inline std::string PoolSameStream(Lab& l) {
  Pool pool(kNone, 0);
  int* first = pool.AllocIdle(l.a);
  l.Busy(l.a);
  FreeOn(l.a, first);
  int* second = pool.Alloc(l.a);
  FreeOn(l.a, second);
  return Where(first, second);
}

// a's block is freed behind busy work, b allocates at once, with an edge of the user's or without.
// Tells who got the storage and whether b's next operation was ordered behind a's work.
inline std::string PoolOtherStream(Lab& l, int reuse, size_t limit, bool user_edge) {
  Pool pool(reuse, limit);
  Event e;
  int* first = pool.AllocIdle(l.a);
  l.Busy(l.a);
  FreeOn(l.a, first);
  if (user_edge) {
    e.Record(l.a);
    e.MakeWait(l.b);
  }
  int* second = pool.Alloc(l.b);
  const std::string host = l.Returned();
  l.Look(l.b);
  const std::string where = Where(first, second) + ", host " + host + ", use " + l.Seen();
  FreeOn(l.b, second);
  return where;
}

// The device has ended a's work, and no call has told the host so.
inline std::string PoolLuckyReuse(Lab& l, int reuse) {
  Pool pool(reuse, 0);
  int* first = pool.AllocIdle(l.a);
  l.Busy(l.a);
  FreeOn(l.a, first);
  l.SpinUntilDone();
  int* second = pool.Alloc(l.b);
  FreeOn(l.b, second);
  return Where(first, second);
}

// The limit leaves no room for a second block and no reuse is allowed: how does the call end?
inline std::string PoolFull(Lab& l) {
  try {
    return PoolOtherStream(l, kNone, kBlock, false);
  } catch (const std::runtime_error&) {
    cudaGetLastError();
    return "refused";
  }
}

// b still writes into the block when a frees it; a's next tenant gets the storage, fills it, and
// finds b's value in it at the end.
inline std::string FreeIgnoresOtherStream(Lab& l, bool user_edge) {
  Pool pool(kAll, 0);
  Event e;
  int found = 0;
  int* first = pool.AllocIdle(l.a);
  l.Busy(l.b, 0, first);
  if (user_edge) {
    e.Record(l.b);
    e.MakeWait(l.a);
  }
  FreeOn(l.a, first);
  int* second = pool.Alloc(l.a);
  Store<<<1, 1, 0, l.a>>>(second, 7);
  MUST(cudaDeviceSynchronize());
  MUST(cudaMemcpy(&found, second, 4, cudaMemcpyDeviceToHost));
  FreeOn(l.a, second);
  if (first != second) return "other address";
  return found == 7 ? "kept" : "struck";
}

const Probe kMemoryProbes[] = {
    {"16", "cudaFree of 4 KiB, non-blocking busy elsewhere: host", nullptr,
     [](Lab& l) { return FreeWhileBusy(l, l.a, 4096); }},
    {"16", "cudaFree of 32 MiB, non-blocking busy elsewhere: host", nullptr,
     [](Lab& l) { return FreeWhileBusy(l, l.a, kBlock); }},
    {"16", "cudaFree of 32 MiB, blocking busy elsewhere: host", nullptr,
     [](Lab& l) { return FreeWhileBusy(l, l.p, kBlock); }},
    {"16", "cudaFree of 32 MiB, legacy busy elsewhere: host", nullptr,
     [](Lab& l) { return FreeWhileBusy(l, cudaStreamLegacy, kBlock); }},
    {"16", "cudaFree in thread T, busy elsewhere; main launches on an idle stream", nullptr,
     LaunchDuringFree},
    {"16", "cudaFree(nullptr), busy elsewhere: host", nullptr,
     [](Lab& l) { return CallWhileBusy(l, l.a, [] { MUST(cudaFree(nullptr)); }); }},
    {"16", "cudaMalloc of 4 KiB, busy elsewhere: host", nullptr,
     [](Lab& l) { return MallocWhileBusy(l, 4096); }},
    {"16", "cudaMalloc of 32 MiB, busy elsewhere: host", nullptr,
     [](Lab& l) { return MallocWhileBusy(l, kBlock); }},
    {"16", "cudaFreeHost of 4 KiB, non-blocking busy elsewhere: host", "early",
     [](Lab& l) { return FreeHostWhileBusy(l, l.a, 4096); }},
    {"16", "cudaFreeHost of 32 MiB, non-blocking busy elsewhere: host", "early",
     [](Lab& l) { return FreeHostWhileBusy(l, l.a, kBlock); }},
    {"16", "cudaFreeHost of 32 MiB, legacy busy elsewhere: host", "early",
     [](Lab& l) { return FreeHostWhileBusy(l, cudaStreamLegacy, kBlock); }},
    {"16", "cudaHostAlloc of 32 MiB, busy elsewhere: host", nullptr, HostAllocWhileBusy},
    {"16", "cudaHostRegister of 32 MiB, busy elsewhere: host", nullptr, RegisterWhileBusy},
    {"16", "cudaHostUnregister of 32 MiB, busy elsewhere: host", nullptr, UnregisterWhileBusy},
    {"16", "cuMemUnmap of 32 MiB, non-blocking busy elsewhere: host", nullptr,
     [](Lab& l) { return UnmapWhileBusy(l, l.a, false); }},
    {"16", "cuMemUnmap of 32 MiB, legacy busy elsewhere: host", nullptr,
     [](Lab& l) { return UnmapWhileBusy(l, cudaStreamLegacy, false); }},
    {"16", "cuMemUnmap of 32 MiB, its last writer ended, that stream busy: host", nullptr,
     [](Lab& l) { return UnmapWhileBusy(l, l.a, true); }},
    {"16", "cuMemCreate, cuMemMap and cuMemSetAccess, busy elsewhere: host", nullptr, MapWhileBusy},
    {"16", "cudaFree, then cudaMalloc of the same size", "same address", AddressComesBack},
    {"17", "cudaMallocFromPoolAsync, stream busy: host", "early", PoolAllocReturns},
    {"17", "cudaFreeAsync, stream busy: host", "early", PoolFreeReturns},
    {"17", "cudaFree of a pool block, its stream busy: host", nullptr, PoolBlockingFree},
    {"4", "blocking p busy, cudaFreeAsync on legacy, then blocking q", "after", PoolFreeOnLegacy},
    {"17", "free and allocate on one stream, no reuse policy", "same address", PoolSameStream},
    {"17", "other stream allocates, no policy, no edge", "other address, host early, use before",
     [](Lab& l) { return PoolOtherStream(l, kNone, 0, false); }},
    {"17", "other stream allocates, no policy, the user's event edge",
     "other address, host early, use after",
     [](Lab& l) { return PoolOtherStream(l, kNone, 0, true); }},
    {"17", "other stream allocates, follow-event policy, the user's event edge",
     "same address, host early, use after",
     [](Lab& l) { return PoolOtherStream(l, kFollow, 0, true); }},
    {"17", "other stream allocates, follow-event policy, no edge",
     "other address, host early, use before",
     [](Lab& l) { return PoolOtherStream(l, kFollow, 0, false); }},
    {"17", "other stream allocates, opportunistic policy, work pending",
     "other address, host early, use before",
     [](Lab& l) { return PoolOtherStream(l, kOpportunistic, 0, false); }},
    {"17", "other stream allocates, opportunistic policy, work ended unseen by the host", nullptr,
     [](Lab& l) { return PoolLuckyReuse(l, kOpportunistic); }},
    {"17", "other stream allocates, no policy, work ended unseen by the host", "other address",
     [](Lab& l) { return PoolLuckyReuse(l, kNone); }},
    {"17", "other stream allocates, internal-dependency policy, pool may grow", nullptr,
     [](Lab& l) { return PoolOtherStream(l, kInternal, 0, false); }},
    {"17", "other stream allocates, internal-dependency policy, pool full", nullptr,
     [](Lab& l) { return PoolOtherStream(l, kInternal, kBlock, false); }},
    {"17", "other stream allocates, all policies, pool may grow", nullptr,
     [](Lab& l) { return PoolOtherStream(l, kAll, 0, false); }},
    {"17", "other stream allocates, no policy, pool full", nullptr, PoolFull},
    {"17", "another stream still writes the block when its owner frees and reuses it", "struck",
     [](Lab& l) { return FreeIgnoresOtherStream(l, false); }},
    {"17", "the same, the owner waits for the writer before the free", "kept",
     [](Lab& l) { return FreeIgnoresOtherStream(l, true); }},
};

}  // namespace probes
