// trial STEPS: a program of the driver's interface, one step a letter, each called from one place
// whatever the order. For `run --confirm`, which looks for calls by place and number.
//   f  fills a buffer, on stream a          s  copies from it, on b
//   w  b waits for a                        y  the host waits for a
//   h  copies it to the host, on a          r  the CPU reads what came (annotated)
//   g  begins to capture a into a graph     l  ends that, launches it on a
//   c  begins to capture another stream     x  ends that
//   p  a caching allocator hands a's buffer out (annotated)    q  and gets it back
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "streamsan/annotate.h"

namespace {

constexpr size_t kBytes = 4096;

void Check(CUresult result, char step) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "trial: step %c: %d\n", step, result);
  std::exit(9);
}

class Program {
 public:
  Program() {
    CUdevice device;
    CUcontext context;
    Check(cuInit(0), '0');
    Check(cuDeviceGet(&device, 0), '0');
    Check(cuDevicePrimaryCtxRetain(&context, device), '0');
    Check(cuCtxSetCurrent(context), '0');
    for (CUstream* stream : {&a_, &b_, &other_})
      Check(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING), '0');
    for (CUdeviceptr* buffer : {&buffer_, &copy_}) Check(cuMemAlloc(buffer, kBytes), '0');
    Check(cuMemAllocHost(&host_, kBytes), '0');
    Check(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), '0');
  }

  CUresult Do(char step) {
    switch (step) {
      case 'f':
        return cuMemsetD8Async(buffer_, 1, kBytes, a_);
      case 's':
        return cuMemcpyDtoDAsync(copy_, buffer_, kBytes, b_);
      case 'w':
        Check(cuEventRecord(event_, a_), step);
        return cuStreamWaitEvent(b_, event_, 0);
      case 'y':
        return cuStreamSynchronize(a_);
      case 'h':
        return cuMemcpyDtoHAsync(host_, buffer_, kBytes, a_);
      case 'r':
        streamsan_host_access(host_, kBytes, STREAMSAN_READ);
        std::printf("read %d\n", *static_cast<volatile unsigned char*>(host_));
        return CUDA_SUCCESS;
      case 'g':
        return cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_GLOBAL);
      case 'l':
        Check(cuStreamEndCapture(a_, &graph_), step);
        Check(cuGraphInstantiate(&executable_, graph_, 0), step);
        return cuGraphLaunch(executable_, a_);
      case 'p':
        streamsan_pool_alloc(this, Address(), kBytes, a_);
        return CUDA_SUCCESS;
      case 'q':
        streamsan_pool_free(this, Address());
        return CUDA_SUCCESS;
      case 'c':
        return cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_GLOBAL);
      case 'x':
        return cuStreamEndCapture(other_, &graph_);
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }

 private:
  const void* Address() const { return reinterpret_cast<const void*>(buffer_); }

  CUstream a_, b_, other_;
  CUdeviceptr buffer_, copy_;
  void* host_;
  CUevent event_;
  CUgraph graph_;
  CUgraphExec executable_;
};

}  // namespace

int main(int argc, char** argv) {
  Program program;
  for (const char* step = argc > 1 ? argv[1] : ""; *step; ++step) Check(program.Do(*step), *step);
  Check(cuCtxSynchronize(), '.');
}
