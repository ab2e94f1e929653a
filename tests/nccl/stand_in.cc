// Stands for libnccl.so.2. Each operation becomes one kernel on the program's stream, and around it
// what NCCL does there too: an event of its own, a wait, a copy, private memory. A profiler plug-in
// is told of it (teller.h).
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/nccl/api.h"
#include "tests/nccl/teller.h"
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
  Teller teller;
  CUdeviceptr flag = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
};

namespace {

std::atomic<unsigned> g_kernels;
thread_local int t_depth;
struct Waiting {
  NcclComm comm;
  Asked asked;
  void* told;
};
thread_local std::vector<Waiting> t_waiting;

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

// For NCCL_STAND_IN_CASE: how NCCL may come to launch an operation.
bool CaseIs(const char* name) {
  const char* now = getenv("NCCL_STAND_IN_CASE");
  return now && strcmp(now, name) == 0;
}

void Launch(NcclComm comm, CUstream stream) {
  void* params[] = {&comm->flag};
  cuEventRecord(comm->event, stream);
  cuStreamWaitEvent(comm->stream, comm->event, 0);
  cuMemcpyDtoDAsync(comm->flag + 64, comm->flag, 64, comm->stream);
  cuEventRecord(comm->event, comm->stream);
  cuStreamWaitEvent(stream, comm->event, 0);
  cuLaunchKernel(Kernel(), 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
  g_kernels.fetch_add(1);
}

void LaunchAndTell(const Waiting& waiting) {
  Launch(waiting.comm, waiting.asked.stream);
  waiting.comm->teller.Plan(waiting.asked, waiting.told);
}

void Run(const Waiting& waiting) {
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  if (CaseIs("replayed")) {  // in a graph: told when it runs, by a thread that launches nothing
    std::thread([&] { waiting.comm->teller.Plan(waiting.asked, waiting.told); }).join();
  } else if (CaseIs("helper")) {  // a communicator that does not block
    std::thread([&] {
      cuCtxSetCurrent(context);
      LaunchAndTell(waiting);
    }).join();
  } else if (CaseIs("every-other") && g_kernels.load() % 2) {
    Launch(waiting.comm, waiting.asked.stream);
  } else {
    LaunchAndTell(waiting);
  }
}

int Queue(NcclComm comm, const Asked& asked) {
  if (!comm || asked.count == kRefusedCount) return kNcclInvalidArgument;
  const Waiting waiting{comm, asked, comm->teller.Call(asked, CaseIs("captured"))};
  if (t_depth) {
    t_waiting.push_back(waiting);
  } else {
    Run(waiting);
  }
  return 0;
}

NcclComm Make(int rank, int ranks) {
  auto* comm = new NcclCommunicator{rank, ranks, {rank, ranks, 0xC011EC7ED}};
  cuMemAlloc(&comm->flag, 4096);
  cuDestroyExternalMemory(nullptr);  // a call that is counted, and is not the program's
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
  for (const Waiting& waiting : t_waiting) Run(waiting);
  t_waiting.clear();
  return 0;
}

EXPORT int ncclAllReduce(const void* send, void* receive, size_t count, int type, int,
                         NcclComm comm, CUstream stream) {
  return Queue(comm, {"AllReduce", send, receive, count, type, 0, stream});
}
EXPORT int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root,
                         NcclComm comm, CUstream stream) {
  return Queue(comm, {"Broadcast", send, receive, count, type, root, stream});
}
// As NCCL does, by its own public function, which the program's copy of the name may be.
EXPORT int ncclBcast(void* buffer, size_t count, int type, int root, NcclComm comm,
                     CUstream stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
EXPORT int ncclReduce(const void* send, void* receive, size_t count, int type, int, int root,
                      NcclComm comm, CUstream stream) {
  return Queue(comm, {"Reduce", send, receive, count, type, root, stream});
}
EXPORT int ncclAllGather(const void* send, void* receive, size_t count, int type, NcclComm comm,
                         CUstream stream) {
  return Queue(comm, {"AllGather", send, receive, count, type, 0, stream});
}
EXPORT int ncclSend(const void* send, size_t count, int type, int peer, NcclComm comm,
                    CUstream stream) {
  return Queue(comm, {"Send", send, nullptr, count, type, peer, stream});
}
EXPORT int ncclRecv(void* receive, size_t count, int type, int peer, NcclComm comm,
                    CUstream stream) {
  return Queue(comm, {"Recv", nullptr, receive, count, type, peer, stream});
}
EXPORT int ncclMemAlloc(void** made, size_t bytes) {
  return cuMemAlloc(reinterpret_cast<CUdeviceptr*>(made), bytes);
}
EXPORT int ncclMemFree(void* address) { return cuMemFree(reinterpret_cast<CUdeviceptr>(address)); }

#ifdef NCCL_STAND_IN_HIDDEN
// The only way in, of which no symbol tells.
extern "C" __attribute__((visibility("default"))) const NcclFunctions* hidden_nccl() {
  static const NcclFunctions kFunctions = {
#define NCCL_ADDRESS(name, parameters) .name = &nccl##name,
      NCCL_API(NCCL_ADDRESS)
#undef NCCL_ADDRESS
  };
  return &kFunctions;
}
#endif
