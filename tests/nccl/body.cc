// A program with NCCL, by what it is asked to do. Prints "name value" lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "streamsan/annotate.h"
#include "tests/nccl/api.h"

extern "C" __attribute__((weak)) unsigned nccl_stand_in_kernels();

namespace {

void Must(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(4);
}
#define OK(call) Must(static_cast<int>(call), #call)

void Show(const char* name, uint64_t value) {
  printf("%s 0x%llx\n", name, static_cast<unsigned long long>(value));
}

constexpr size_t kBytes = 4096, kCount = kBytes / sizeof(float);
constexpr int kRanks = 4, kRank = 1;

struct Job {
  const NcclFunctions& nccl;
  CUdeviceptr gradient = 0, other = 0;
  CUstream compute = nullptr, comm = nullptr;
  CUevent ready = nullptr;
  NcclComm world = nullptr;

  explicit Job(const NcclFunctions& functions) : nccl(functions) {
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&gradient, kBytes));
    OK(cuMemAlloc(&other, kBytes * kRanks));
    OK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&comm, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
    NcclId id{};
    id.bytes[127] = 'z';
    OK(nccl.CommInitRank(&world, kRanks, id, kRank));
    Show("gradient", gradient);
    Show("other", other);
    Show("comm", reinterpret_cast<uint64_t>(comm));
    Show("world", reinterpret_cast<uint64_t>(world));
  }
  ~Job() {
    OK(cuCtxSynchronize());
    OK(nccl.CommDestroy(world));
    if (nccl_stand_in_kernels) Show("kernels", nccl_stand_in_kernels());
  }
  void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
};

// Every function once or twice.
void All(Job& job) {
  const NcclFunctions& nccl = job.nccl;
  void *gradient = job.at(job.gradient), *other = job.at(job.other);
  OK(nccl.AllReduce(gradient, gradient, kCount, kNcclFloat, kNcclSum, job.world, job.comm));
  Show("refused", nccl.AllReduce(gradient, gradient, kRefusedCount, kNcclFloat, kNcclSum, job.world,
                                 job.comm));
  OK(nccl.Bcast(gradient, kCount, kNcclFloat, 0, job.world, job.comm));
  OK(nccl.Reduce(gradient, other, kCount, kNcclFloat, kNcclSum, 3, job.world, job.comm));
  OK(nccl.GroupStart());
  OK(nccl.GroupStart());
  OK(nccl.Send(gradient, 8, kNcclFloat, 2, job.world, job.comm));
  OK(nccl.GroupEnd());
  OK(nccl.Recv(other, 8, kNcclFloat, 2, job.world, job.comm));
  OK(nccl.GroupEnd());
  NcclComm half = nullptr;
  OK(nccl.CommSplit(job.world, 7, 1, &half, nullptr));
  OK(nccl.AllGather(gradient, other, kCount, kNcclFloat, half, nullptr));
  OK(nccl.CommDestroy(half));
  void* memory = nullptr;
  OK(nccl.MemAlloc(&memory, 512));
  Show("memory", reinterpret_cast<uint64_t>(memory));
  cuDestroyExternalMemory(nullptr);
  OK(nccl.MemFree(memory));
}

// The compute stream makes a gradient, the communication stream reduces it.
void Reduce(Job& job, const std::string& how) {
  size_t half = kBytes / 2;
  streamsan_buffer(job.at(job.gradient), kBytes, "gradient");
  OK(cuMemsetD8Async(job.gradient, 1, half, job.compute));
  if (how == "waits") {
    OK(cuEventRecord(job.ready, job.compute));
    OK(cuStreamWaitEvent(job.comm, job.ready, 0));
  }
  // The other half of the same buffer: no wait is missing.
  void* reduced = job.at(how == "other-half" ? job.gradient + half : job.gradient);
  OK(job.nccl.AllReduce(reduced, reduced, kCount / 2, kNcclFloat, kNcclSum, job.world, job.comm));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int RunBody(const NcclFunctions* functions,
                                                              const char* what) {
  NcclFunctions own = {
#define NCCL_ADDRESS(name, parameters) .name = &nccl##name,
      NCCL_API(NCCL_ADDRESS)
#undef NCCL_ADDRESS
  };
  Job job(functions ? *functions : own);
  if (strcmp(what, "all") == 0) {
    All(job);
  } else {
    Reduce(job, what);
  }
  return 0;
}
