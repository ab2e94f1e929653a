// What the Sanitizer API calls in front of (or behind) instructions of the watched kernels.
// Compiled with `nvcc --fatbin --compile-as-tools-patch --keep-device-functions`.
#include <sanitizer_patching.h>

#include "src/sanitizer/device_log.h"

using ss::pipeline::kMaxWarps;
using ss::pipeline::kStuckBlocks;
using ss::pipeline::LogRecord;
using ss::pipeline::RecordKind;
using ss::pipeline::StuckWarp;
using ss::sanitizer::DeviceLog;
using ss::sanitizer::LaunchSlot;

namespace {

__device__ __forceinline__ uint32_t BlockNumber() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

__device__ __forceinline__ uint32_t Thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ __forceinline__ uint32_t Lane() {
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__device__ __forceinline__ uint32_t ClusterBlocks() {
  uint32_t n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n ? n : 1;
}

// The cluster's number in the grid.
__device__ __forceinline__ uint32_t Cluster() {
  uint32_t x, y, z, nx, ny;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(x));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(y));
  asm("mov.u32 %0, %%clusterid.z;" : "=r"(z));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(nx));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(ny));
  return x + nx * (y + ny * z);
}

// Whole clusters, spread evenly over the grid.
__device__ __forceinline__ bool Watched(const LaunchSlot& slot) {
  if (slot.blocks == 0) return false;
  const uint32_t blocks = gridDim.x * gridDim.y * gridDim.z;
  if (blocks <= slot.blocks) return true;
  const uint32_t size = ClusterBlocks();
  const uint32_t wanted = slot.blocks / size ? slot.blocks / size : 1;
  const uint32_t stride = (blocks / size + wanted - 1) / wanted;
  return Cluster() % stride == 0;
}

struct Event {
  uint64_t pc;
  uint64_t word;
  uint32_t barrier;
  uint32_t data;
  RecordKind kind;
  uint8_t result;
};

__device__ __forceinline__ uint32_t ClusterRank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Of an mbarrier of the own block. The unit that works on mbarriers is asked: until the GPU switches
// contexts, a load reads what memory held before that unit took the object over.
__device__ __forceinline__ uint32_t Parity(uint32_t barrier) {
  uint32_t odd;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(odd)
      : "r"(barrier)
      : "memory");
  return odd;
}

// The mbarrier itself, maybe another block's of the cluster: whoever arrives there may read there.
// What the API says of a wait's operands is not its parity: the object and the outcome are.
__device__ __forceinline__ uint64_t Word(uint32_t barrier) {
  constexpr uint32_t kRankShift = 24;
  uint64_t word;
  asm volatile("ld.volatile.shared::cluster.u64 %0, [%1];" : "=l"(word) : "r"(barrier));
  if (ClusterBlocks() > 1 && barrier >> kRankShift != ClusterRank()) return word;
  const uint32_t parity = Parity(barrier);
  const bool fits = word != 0 && ss::pipeline::WordParity(word) == parity;
  return fits ? word : ss::pipeline::MakeParity(parity);
}

__device__ __forceinline__ void Store(LogRecord* to, const Event& event, uint32_t launch,
                                      uint32_t lanes) {
  union {
    LogRecord record;
    ulonglong2 halves[2];
  } value;
  value.record.place =
      (event.pc & 0xffffffffffffULL) | static_cast<uint64_t>(event.kind) << 48 | 1ULL << 56;
  value.record.word = event.word;
  value.record.barrier = event.barrier;
  value.record.data = static_cast<uint16_t>(event.data);
  value.record.block = BlockNumber();
  value.record.launch = static_cast<uint16_t>(launch);
  value.record.warp = Thread() / 32;
  value.record.lanes = lanes;
  value.record.result = event.result;
  value.record.tag = 1;
  volatile ulonglong2* halves = reinterpret_cast<volatile ulonglong2*>(to);
  asm volatile("st.volatile.v2.u64 [%0], {%1, %2};" ::"l"(halves), "l"(value.halves[0].x),
               "l"(value.halves[0].y)
               : "memory");
  asm volatile("st.volatile.v2.u64 [%0], {%1, %2};" ::"l"(halves + 1), "l"(value.halves[1].x),
               "l"(value.halves[1].y)
               : "memory");
}

__device__ __forceinline__ void Append(const LaunchSlot& slot, const Event& event, uint32_t lanes) {
  DeviceLog& log = *slot.log;
  const unsigned long long at = atomicAdd(&log.next, 1ULL);
  if (at < log.capacity) {
    Store(&log.records[at], event, slot.launch, lanes);
  } else {
    *static_cast<volatile unsigned long long*>(log.lost) = at + 1 - log.capacity;
  }
}

// The lanes that are here with the same barrier and data act as one: true in the first of them.
__device__ __forceinline__ bool Leads(uint32_t barrier, uint32_t data, uint32_t* lanes) {
  const uint32_t peers =
      __match_any_sync(__activemask(), barrier | static_cast<uint64_t>(data) << 32);
  *lanes = __popc(peers);
  return Lane() == static_cast<uint32_t>(__ffs(peers) - 1);
}

__device__ __forceinline__ void Log(void* user, const Event& event) {
  if (!user) return;
  LaunchSlot& slot = *static_cast<LaunchSlot*>(user);
  uint32_t lanes;
  if (!Leads(event.barrier, event.data, &lanes)) return;
  if (event.kind == RecordKind::kInit) slot.has_mbarriers = 1;
  if (!Watched(slot)) return;
  if (event.kind >= RecordKind::kBarEnter && !*static_cast<volatile uint32_t*>(&slot.has_mbarriers))
    return;
  Append(slot, event, lanes);
}

// A poll: failures like the last one are not news. A loop may poll at more than one instruction.
__device__ __forceinline__ void LogTry(void* user, const Event& event) {
  if (!user) return;
  LaunchSlot& slot = *static_cast<LaunchSlot*>(user);
  uint32_t lanes;
  if (!Leads(event.barrier, event.data, &lanes)) return;
  const uint32_t at = (BlockNumber() % kStuckBlocks) * kMaxWarps + Thread() / 32;
  StuckWarp& failed = slot.log->failed[at];
  const bool waits = failed.place != 0 && failed.launch == slot.launch &&
                     failed.barrier == event.barrier && failed.data == event.data &&
                     failed.block == BlockNumber();
  if (!event.result && waits) return;
  if (!event.result) {
    Store(&failed, event, slot.launch, lanes);
    Store(&slot.log->stuck[at], event, slot.launch, lanes);
  } else if (waits) {
    failed.place = 0;
    *static_cast<volatile uint64_t*>(&slot.log->stuck[at].place) = 0;
  }
  if (Watched(slot)) Append(slot, event, lanes);
}

// A warp that leaves waits no longer, also where its last look failed.
__device__ __forceinline__ void Forget(LaunchSlot& slot) {
  if (!*static_cast<volatile uint32_t*>(&slot.has_mbarriers)) return;
  const uint32_t at = (BlockNumber() % kStuckBlocks) * kMaxWarps + Thread() / 32;
  StuckWarp& failed = slot.log->failed[at];
  if (failed.place == 0 || failed.launch != slot.launch || failed.block != BlockNumber()) return;
  failed.place = 0;
  *static_cast<volatile uint64_t*>(&slot.log->stuck[at].place) = 0;
}

}  // namespace

#define PATCH extern "C" __device__ __noinline__ SanitizerPatchResult

PATCH SsMbarrier(void* user, uint64_t pc, void* address, uint32_t kind, uint32_t data) {
  if (kind == SANITIZER_CUDA_BARRIER_WAIT) return SANITIZER_PATCH_SUCCESS;  // the attempt says more
  const uint32_t barrier = static_cast<uint32_t>(reinterpret_cast<uint64_t>(address));
  const uint64_t word = kind == SANITIZER_CUDA_BARRIER_INIT ? 0 : Word(barrier);
  Log(user, {pc, word, barrier, data, static_cast<RecordKind>(kind), 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsMbarrierTry(void* user, uint64_t pc, void* address, uint32_t kind, uint32_t,
                    uint32_t result) {
  if (kind != SANITIZER_CUDA_BARRIER_WAIT) return SANITIZER_PATCH_SUCCESS;
  const uint32_t barrier = static_cast<uint32_t>(reinterpret_cast<uint64_t>(address));
  const uint64_t word = Word(barrier);
  const uint32_t phase = ss::pipeline::WordParity(word);
  LogTry(user, {pc, word, barrier, result ? phase ^ 1 : phase, RecordKind::kTry,
                static_cast<uint8_t>(result != 0)});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsBarEnter(void* user, uint64_t pc, uint32_t index, uint32_t threads, uint32_t flags) {
  Log(user, {pc, 0, index, threads, RecordKind::kBarEnter, static_cast<uint8_t>(flags)});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsBarLeave(void* user, uint64_t pc, uint32_t index, uint32_t threads, uint32_t flags) {
  Log(user, {pc, 0, index, threads, RecordKind::kBarLeave, static_cast<uint8_t>(flags)});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsClusterArrive(void* user, uint64_t pc) {
  Log(user, {pc, 0, 0, 0, RecordKind::kClusterArrive, 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsClusterWait(void* user, uint64_t pc) {
  Log(user, {pc, 0, 0, 0, RecordKind::kClusterWait, 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsBulkCopy(void* user, uint64_t pc, uint64_t, uint32_t, uint32_t barrier, uint32_t data,
                 uint32_t multicast) {
  Log(user,
      {pc, 0, barrier, data & 0xffff, RecordKind::kBulkCopy, static_cast<uint8_t>(multicast != 0)});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsBulkCopyShared(void* user, uint64_t pc, uint32_t, uint32_t, uint32_t barrier,
                       uint32_t blocks) {
  Log(user, {pc, 0, barrier, blocks, RecordKind::kBulkCopy, 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsAsyncArrive(void* user, uint64_t pc, uint32_t barrier) {
  Log(user, {pc, 0, barrier, 0, RecordKind::kAsyncArrive, 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsAsyncStore(void* user, uint64_t pc, uint32_t, uint32_t barrier, void*, uint32_t bytes) {
  Log(user, {pc, 0, barrier, bytes, RecordKind::kAsyncStore, 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsAsyncReduction(void* user, uint64_t pc, uint32_t, uint32_t barrier, uint32_t bytes) {
  Log(user, {pc, 0, barrier, bytes, RecordKind::kAsyncStore, 0});
  return SANITIZER_PATCH_SUCCESS;
}

PATCH SsExit(void* user, uint64_t pc) {
  if (user) Forget(*static_cast<LaunchSlot*>(user));
  Log(user, {pc, 0, 0, 0, RecordKind::kExit, 0});
  return SANITIZER_PATCH_SUCCESS;
}
