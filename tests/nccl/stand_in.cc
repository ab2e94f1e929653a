// Stands for libnccl.so.2. Each operation becomes one kernel on the program's stream, and around it
// what NCCL does there too: an event of its own, a wait, a copy, private memory.
#include <atomic>
#include <vector>

#include "tests/nccl/api.h"
#include "vgpu/kernel.h"

#ifdef NCCL_STAND_IN_HIDDEN
#define EXPORT extern "C" __attribute__((visibility("hidden")))
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

VGPU_KERNEL(ncclDevKernel_StandIn, (void* flag)) {
  if (vgpu_thread() == 0) *static_cast<float*>(flag) = 1;
}

struct NcclCommunicator {
  int rank = 0, ranks = 0;
  CUdeviceptr flag = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
};

namespace {

std::atomic<unsigned> g_kernels;
thread_local int t_depth;
thread_local std::vector<std::pair<NcclComm, CUstream>> t_waiting;

CUfunction Kernel() {
  static CUfunction function = [] {
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    cuModuleLoadData(&module, vgpu::Image());
    cuModuleGetFunction(&found, module, "ncclDevKernel_StandIn");
    return found;
  }();
  return function;
}

void Run(NcclComm comm, CUstream stream) {
  void* params[] = {&comm->flag};
  cuEventRecord(comm->event, stream);
  cuStreamWaitEvent(comm->stream, comm->event, 0);
  cuMemcpyDtoDAsync(comm->flag + 64, comm->flag, 64, comm->stream);
  cuEventRecord(comm->event, comm->stream);
  cuStreamWaitEvent(stream, comm->event, 0);
  cuLaunchKernel(Kernel(), 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
  g_kernels.fetch_add(1);
}

int Queue(size_t count, NcclComm comm, CUstream stream) {
  if (!comm || count == kRefusedCount) return kNcclInvalidArgument;
  if (t_depth) {
    t_waiting.push_back({comm, stream});
  } else {
    Run(comm, stream);
  }
  return 0;
}

NcclComm Make(int rank, int ranks) {
  auto* comm = new NcclCommunicator{rank, ranks};
  cuMemAlloc(&comm->flag, 4096);
  int shared = 0;  // a call that is counted, and is not the program's
  cuMemExportToShareableHandle(&shared, 1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  cuStreamCreate(&comm->stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&comm->event, CU_EVENT_DISABLE_TIMING);
  return comm;
}

}  // namespace

EXPORT unsigned nccl_stand_in_kernels() { return g_kernels.load(); }

EXPORT int ncclCommInitRank(NcclComm* comm, int ranks, NcclId id, int rank) {
  if (id.bytes[127] != 'z') return kNcclInvalidArgument;  // all 128 bytes came through
  *comm = Make(rank, ranks);
  return 0;
}
EXPORT int ncclCommSplit(NcclComm comm, int, int key, NcclComm* made, void*) {
  *made = Make(key, comm->ranks / 2);
  return 0;
}
EXPORT int ncclCommCount(NcclComm comm, int* ranks) { return *ranks = comm->ranks, 0; }
EXPORT int ncclCommUserRank(NcclComm comm, int* rank) { return *rank = comm->rank, 0; }
EXPORT int ncclCommCuDevice(NcclComm, int* device) { return *device = 0, 0; }
EXPORT int ncclCommDestroy(NcclComm comm) {
  cuStreamSynchronize(comm->stream);
  cuMemFree(comm->flag);
  cuStreamDestroy(comm->stream);
  cuEventDestroy(comm->event);
  delete comm;
  return 0;
}

EXPORT int ncclGroupStart() { return ++t_depth, 0; }
EXPORT int ncclGroupEnd() {
  if (--t_depth) return 0;
  for (auto& [comm, stream] : t_waiting) Run(comm, stream);
  t_waiting.clear();
  return 0;
}

EXPORT int ncclAllReduce(const void*, void*, size_t count, int, int, NcclComm comm,
                         CUstream stream) {
  return Queue(count, comm, stream);
}
EXPORT int ncclBroadcast(const void*, void*, size_t count, int, int, NcclComm comm,
                         CUstream stream) {
  return Queue(count, comm, stream);
}
// As NCCL does, by its own public function, which the program's copy of the name may be.
EXPORT int ncclBcast(void* buffer, size_t count, int type, int root, NcclComm comm,
                     CUstream stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
EXPORT int ncclReduce(const void*, void*, size_t count, int, int, int, NcclComm comm,
                      CUstream stream) {
  return Queue(count, comm, stream);
}
EXPORT int ncclAllGather(const void*, void*, size_t count, int, NcclComm comm, CUstream stream) {
  return Queue(count, comm, stream);
}
EXPORT int ncclSend(const void*, size_t count, int, int, NcclComm comm, CUstream stream) {
  return Queue(count, comm, stream);
}
EXPORT int ncclRecv(void*, size_t count, int, int, NcclComm comm, CUstream stream) {
  return Queue(count, comm, stream);
}
EXPORT int ncclMemAlloc(void** made, size_t bytes) {
  return cuMemAlloc(reinterpret_cast<CUdeviceptr*>(made), bytes);
}
EXPORT int ncclMemFree(void* address) { return cuMemFree(reinterpret_cast<CUdeviceptr>(address)); }

#ifdef NCCL_STAND_IN_HIDDEN
// One all-reduce of which nobody outside can see more than the kernel.
extern "C" __attribute__((visibility("default"))) int hidden_all_reduce(CUstream stream) {
  NcclId id{};
  id.bytes[127] = 'z';
  NcclComm comm = nullptr;
  ncclCommInitRank(&comm, 2, id, 0);
  return ncclAllReduce(nullptr, nullptr, 1, kNcclFloat, kNcclSum, comm, stream);
}
#endif
