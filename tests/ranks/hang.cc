// One rank ($RANK of 2) whose collectives are in another order than its peer's, or missing there:
// then it waits for a signal, as a rank does whose collective never ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "streamsan/annotate.h"
#include "tests/nccl/api.h"

namespace {

void Must(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(4);
}
#define OK(call) Must(static_cast<int>(call), #call)

// As a framework's plug-in says it.
void SetSite(const char* site) {
  if (streamsan_context* context = streamsan_thread_context()) {
    context->site_text = streamsan_text(site);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool missing = argc > 1 && strcmp(argv[1], "missing") == 0;
  const int rank = atoi(getenv("RANK"));
  alarm(60);  // whatever happens to the test
  CUcontext context;
  CUstream stream = nullptr;
  CUdeviceptr data = 0;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  OK(cuMemAlloc(&data, 4096));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  NcclId id{};
  id.bytes[127] = 'z';
  NcclComm world = nullptr;
  OK(ncclCommInitRank(&world, 2, id, rank));
  auto* buffer = reinterpret_cast<void*>(data);
  SetSite(rank == 0 ? "reduce_first\nrank.py\n11" : "broadcast_first\nrank.py\n16");
  if (rank == 0) OK(ncclAllReduce(buffer, buffer, 64, kNcclFloat, kNcclSum, world, stream));
  if (!missing) OK(ncclBcast(buffer, 64, kNcclFloat, 0, world, stream));
  if (rank == 1 && !missing) {
    OK(ncclAllReduce(buffer, buffer, 64, kNcclFloat, kNcclSum, world, stream));
  }
  pause();
  return 0;
}
