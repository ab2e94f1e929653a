// Green contexts, and events over a whole context.
#include "gpu.h"

namespace {

struct Green {
  CUgreenCtx context = nullptr;

  Green() {
    CUdevResource all, group;
    unsigned count = 1;
    CUdevResourceDesc description;
    CU(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU(cuDevSmResourceSplitByCount(&group, &count, &all, nullptr, 0, 16));
    CU(cuDevResourceGenerateDesc(&description, &group, 1));
    CU(cuGreenCtxCreate(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  }
  CUstream Stream(const char* name) const {
    CUstream stream;
    CU(cuGreenCtxStreamCreate(&stream, context, CU_STREAM_NON_BLOCKING, 0));
    streamsan_stream_name(stream, name);
    return stream;
  }
  CUcontext Converted() const {
    CUcontext converted;
    CU(cuCtxFromGreenCtx(&converted, context));
    return converted;
  }
};

}  // namespace

// A record over a green context, which another stream waits for: taken before the work. Lookalike:
// taken behind it, over the primary context.
bool RecordedOver(const Gpu& gpu, Way way) {
  Green green;
  CUstream g = green.Stream("green"), t = gpu.Stream("reader");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUevent event = gpu.Event();
  if (way == Way::kRacy) CU(cuGreenCtxRecordEvent(green.context, event));
  gpu.Fill(g, a, 3);
  if (way == Way::kFixed) CU(cuGreenCtxRecordEvent(green.context, event));
  if (way == Way::kLookalike) CU(cuCtxRecordEvent(gpu.context, event));
  CU(cuStreamWaitEvent(t, event, 0));
  gpu.Move(t, b, a);
  return gpu.Holds(b, 3);
}

// A context waits, and its streams read: the wrong one. Lookalike: the one that includes it, and a
// stream that is made later.
bool HeldUp(const Gpu& gpu, Way way) {
  Green green, other;
  CUstream g = green.Stream("green"), s = gpu.Stream("writer");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  CUevent event = gpu.Event();
  gpu.Fill(s, a, 4);
  CU(cuEventRecord(event, s));
  if (way == Way::kRacy) CU(cuGreenCtxWaitEvent(other.context, event));
  if (way == Way::kFixed) CU(cuCtxWaitEvent(green.Converted(), event));
  if (way == Way::kLookalike) {
    CU(cuCtxWaitEvent(gpu.context, event));
    g = green.Stream("later");
  }
  gpu.Move(g, b, a);
  return gpu.Holds(b, 4);
}

// The host waits for a context: another green one. Lookalike: for the primary one.
bool Synchronised(const Gpu& gpu, Way way) {
  Green green, other;
  CUstream g = green.Stream("green"), t = gpu.Stream("reader");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  gpu.Fill(g, a, 5);
  if (way != Way::kLookalike) {
    CU(cuCtxSetCurrent((way == Way::kFixed ? green : other).Converted()));
  }
  CU(cuCtxSynchronize());
  CU(cuCtxSetCurrent(gpu.context));
  gpu.Move(t, b, a);
  return gpu.Holds(b, 5);
}
