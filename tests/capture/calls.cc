// Calls every modelled function of the driver at least once and prints how often, by exported name;
// then the values that the records must show. How it gets at the driver is argv[1]: link, dlsym,
// dlvsym or proc.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <string>

#include "tests/capture/calls_kernels.h"

namespace {

std::map<std::string, unsigned> g_calls;
std::string g_mode;
void* g_driver;

CUresult (*g_proc)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

std::string BaseName(std::string symbol) {
  for (const char* suffix : {"_ptsz", "_ptds", "_v2", "_v3", "_v4"}) {
    size_t at = symbol.rfind(suffix);
    if (at != std::string::npos && at + strlen(suffix) == symbol.size()) symbol.resize(at);
  }
  return symbol;
}

void* Lookup(const char* symbol, void* linked) {
  if (g_mode == "link") return linked;
  if (g_mode == "dlsym") return dlsym(g_driver, symbol);
  if (g_mode ==
      "dlvsym") {  // the driver has no versions: glibc finds nothing, we must not find more
    void* versioned = dlvsym(g_driver, symbol, "CUDA_1");
    return versioned ? versioned : dlsym(g_driver, symbol);
  }
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  cuuint64_t flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
#else
  cuuint64_t flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
#endif
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  if (!g_proc) {
    g_proc = reinterpret_cast<decltype(g_proc)>(dlsym(g_driver, "cuGetProcAddress_v2"));
  }
  // CUDA 13 has a form of this one that its own cuda.h does not call by the plain name.
  int version = strcmp(symbol, "cuCtxSynchronize") ? CUDA_VERSION : 12000;
  g_calls["cuGetProcAddress_v2"]++;
  g_proc(BaseName(symbol).c_str(), &found, version, flags, &status);
  return found;
}

template <class F, class... A>
CUresult CallIt(const char* symbol, F* linked, A... arguments) {
  auto* function = reinterpret_cast<F*>(Lookup(symbol, reinterpret_cast<void*>(linked)));
  if (!function) {
    fprintf(stderr, "%s: not found by %s\n", symbol, g_mode.c_str());
    exit(3);
  }
  g_calls[symbol]++;
  return function(arguments...);
}

#define NAME2(name) #name
#define NAME(name) NAME2(name)
#define CALL(name, ...) CallIt(NAME(name), name __VA_OPT__(, ) __VA_ARGS__)
#define OK(name, ...)                                                    \
  do {                                                                   \
    CUresult result = CALL(name __VA_OPT__(, ) __VA_ARGS__);             \
    if (result != CUDA_SUCCESS) {                                        \
      fprintf(stderr, "%s: %d\n", NAME(name), static_cast<int>(result)); \
      exit(4);                                                           \
    }                                                                    \
  } while (0)

void Show(const char* name, uint64_t value) {
  printf("%s 0x%llx\n", name, (unsigned long long)value);
}

constexpr size_t kBytes = 4096;

struct State {
  CUcontext context;
  CUstream stream;
  CUevent event;
  CUdeviceptr block;
  CUdeviceptr other;
  void* pinned;
};

State Start() {
  State s{};
  OK(cuInit, 0);
  OK(cuDevicePrimaryCtxRetain, &s.context, 0);
  cuCtxSetCurrent(s.context);
  OK(cuStreamCreate, &s.stream, CU_STREAM_NON_BLOCKING);
  OK(cuEventCreate, &s.event, CU_EVENT_DEFAULT);
  OK(cuMemAlloc, &s.block, kBytes);
  OK(cuMemAlloc, &s.other, kBytes);
  OK(cuMemAllocHost, &s.pinned, kBytes);
  Show("context", reinterpret_cast<uint64_t>(s.context));
  Show("stream", reinterpret_cast<uint64_t>(s.stream));
  Show("event", reinterpret_cast<uint64_t>(s.event));
  Show("block", s.block);
  Show("other", s.other);
  Show("pinned", reinterpret_cast<uint64_t>(s.pinned));
  return s;
}

void Launches(const State& s) {
  CUmodule module;
  CUfunction touch;
  OK(cuModuleLoadData, &module, KernelImage());
  if (cuModuleGetFunction(&touch, module, "touch") != CUDA_SUCCESS) exit(5);
  Show("touch", reinterpret_cast<uint64_t>(touch));
  TenPointers pointers{2, {reinterpret_cast<void*>(s.block), reinterpret_cast<void*>(s.other + 8)}};
  uint32_t n = 4;
  CUdeviceptr last = s.other;
  void* params[] = {&pointers, &n, &last};
  OK(cuLaunchKernel, touch, 1, 1, 1, 1, 1, 1, 0, s.stream, params, nullptr);
  OK(cuLaunchCooperativeKernel, touch, 1, 1, 1, 1, 1, 1, 0, s.stream, params);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cuLaunchKernelEx, &config, touch, params, nullptr);  // stream 0: the default one
  struct {
    TenPointers pointers;
    uint32_t n;
    CUdeviceptr last;
  } buffer{pointers, n, last};
  size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel, touch, 1, 1, 1, 1, 1, 1, 0, s.stream, nullptr, extra);
  OK(cuModuleUnload, module);
}

void Copies(const State& s) {
  char* pinned = static_cast<char*>(s.pinned);
  auto host = reinterpret_cast<CUdeviceptr>(s.pinned);
  OK(cuMemcpyHtoD, s.block, pinned, 16);
  OK(cuMemcpyHtoDAsync, s.block, pinned, 17, s.stream);
  OK(cuMemcpyDtoH, pinned, s.block, 18);
  OK(cuMemcpyDtoHAsync, pinned, s.block, 19, s.stream);
  OK(cuMemcpyDtoD, s.block, s.other, 20);
  OK(cuMemcpyDtoDAsync, s.block, s.other, 21, s.stream);
  OK(cuMemcpy, s.block, host, 22);
  OK(cuMemcpyAsync, s.block, host, 23, s.stream);
  OK(cuMemcpyPeer, s.block, s.context, s.other, s.context, 24);
  OK(cuMemcpyPeerAsync, s.block, s.context, s.other, s.context, 25, s.stream);
  CUDA_MEMCPY2D flat{};
  flat.srcMemoryType = CU_MEMORYTYPE_HOST;
  flat.srcHost = pinned;
  flat.srcPitch = 32;
  flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.dstDevice = s.block;
  flat.dstXInBytes = 4;
  flat.dstY = 1;
  flat.dstPitch = 64;
  flat.WidthInBytes = 8;
  flat.Height = 3;
  OK(cuMemcpy2D, &flat);
  OK(cuMemcpy2DUnaligned, &flat);
  OK(cuMemcpy2DAsync, &flat, s.stream);
  CUDA_MEMCPY3D deep{};
  deep.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  deep.srcDevice = s.block;
  deep.srcPitch = 16;
  deep.srcHeight = 4;
  deep.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  deep.dstDevice = s.other;
  deep.dstPitch = 16;
  deep.dstHeight = 4;
  deep.WidthInBytes = 16;
  deep.Height = 4;
  deep.Depth = 2;
  OK(cuMemcpy3D, &deep);
  OK(cuMemcpy3DAsync, &deep, s.stream);
}

// Three copies, the first two with one source order; then two boxes, of which one is packed.
void Batches(const State& s) {
  auto host = reinterpret_cast<CUdeviceptr>(s.pinned);
  CUdeviceptr to[] = {s.block, s.block + 64, s.other}, from[] = {host, host + 64, s.block + 128};
  size_t bytes[] = {16, 17, 18}, first[] = {0, 2};
  CUmemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  OK(cuMemcpyBatchAsync, to, from, bytes, 3, attributes, first, 2, s.stream);
  CUDA_MEMCPY3D_BATCH_OP boxes[2] = {};
  for (CUDA_MEMCPY3D_BATCH_OP& box : boxes) {
    box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    box.src.op.ptr.ptr = host;
    box.extent = {8, 3, 2};
    box.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  }
  boxes[0].dst.op.ptr.ptr = s.block;
  boxes[0].dst.op.ptr.rowLength = 64;
  boxes[0].dst.op.ptr.layerHeight = 4;
  boxes[1].dst.op.ptr.ptr = s.other;
  OK(cuMemcpy3DBatchAsync, 2, boxes, 0, s.stream);
}

void Memsets(const State& s) {
  OK(cuMemsetD8, s.block, 1, 16);
  OK(cuMemsetD8Async, s.block, 1, 17, s.stream);
  OK(cuMemsetD16, s.block, 1, 18);
  OK(cuMemsetD16Async, s.block, 1, 19, s.stream);
  OK(cuMemsetD32, s.block, 1, 20);
  OK(cuMemsetD32Async, s.block, 1, 21, s.stream);
  OK(cuMemsetD2D8, s.block, 64, 1, 8, 2);
  OK(cuMemsetD2D8Async, s.block, 64, 1, 9, 2, s.stream);
  OK(cuMemsetD2D16, s.block, 64, 1, 8, 2);
  OK(cuMemsetD2D16Async, s.block, 64, 1, 8, 2, s.stream);
  OK(cuMemsetD2D32, s.block, 64, 1, 8, 2);
  OK(cuMemsetD2D32Async, s.block, 64, 1, 8, 2, s.stream);
}

void HostFunctions(const State& s) {
  static int ran;
  OK(
      cuLaunchHostFunc, s.stream, [](void* data) { ++*static_cast<int*>(data); }, &ran);
  OK(
      cuStreamAddCallback, s.stream,
      [](CUstream, CUresult, void* data) { ++*static_cast<int*>(data); }, &ran, 0);
  OK(cuStreamSynchronize, s.stream);
  Show("host_functions_ran", static_cast<uint64_t>(ran));
}

void Order(const State& s) {
  CUstream second;
  CUevent timed;
  float milliseconds;
  OK(cuStreamCreateWithPriority, &second, CU_STREAM_DEFAULT, 0);
  OK(cuEventCreate, &timed, CU_EVENT_DEFAULT);
  OK(cuEventRecord, s.event, s.stream);
  OK(cuEventRecordWithFlags, timed, nullptr, 0);
  OK(cuStreamWaitEvent, second, s.event, 0);
  OK(cuEventSynchronize, s.event);
  OK(cuEventSynchronize, timed);
  CALL(cuEventQuery, s.event);
  CALL(cuStreamQuery, second);
  OK(cuEventElapsedTime, &milliseconds, s.event, timed);
  OK(cuStreamSynchronize, second);
  OK(cuStreamSynchronize, nullptr);
  OK(cuCtxSynchronize);
  OK(cuEventDestroy, timed);
  OK(cuStreamDestroy, second);
}

// Over the primary context, and over a green one by both of its names; first by the one that does
// not say that it is green.
void Contexts(const State& s) {
  CUdevResource all, group;
  unsigned count = 1;
  CUdevResourceDesc description;
  CUgreenCtx green;
  CUcontext converted;
  CUstream stream;
  if (cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) exit(7);
  if (cuDevSmResourceSplitByCount(&group, &count, &all, nullptr, 0, 16) != CUDA_SUCCESS) exit(7);
  if (cuDevResourceGenerateDesc(&description, &group, 1) != CUDA_SUCCESS) exit(7);
  OK(cuGreenCtxCreate, &green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
  if (cuCtxFromGreenCtx(&converted, green) != CUDA_SUCCESS) exit(7);
  Show("green_context", reinterpret_cast<uint64_t>(converted));
  OK(cuCtxWaitEvent, converted, s.event);
  OK(cuGreenCtxStreamCreate, &stream, green, CU_STREAM_NON_BLOCKING, 0);
  Show("green_stream", reinterpret_cast<uint64_t>(stream));
  OK(cuCtxRecordEvent, s.context, s.event);
  OK(cuGreenCtxWaitEvent, green, s.event);
  OK(cuGreenCtxRecordEvent, green, s.event);
  OK(cuStreamDestroy, stream);
  OK(cuGreenCtxDestroy, green);
}

void Memory(const State& s) {
  CUdeviceptr pitched;
  CUdeviceptr managed;
  CUdeviceptr pooled;
  size_t pitch;
  void* mapped;
  static char page[2 * kBytes];
  OK(cuMemAllocPitch, &pitched, &pitch, 100, 3, 4);
  Show("pitched_bytes", pitch * 3);
  OK(cuMemFree, pitched);
  OK(cuMemAllocManaged, &managed, kBytes, CU_MEM_ATTACH_GLOBAL);
  OK(cuMemFree, managed);
  OK(cuMemHostAlloc, &mapped, kBytes, CU_MEMHOSTALLOC_PORTABLE);
  OK(cuMemFreeHost, mapped);
  OK(cuMemHostRegister, page, kBytes, 0);
  OK(cuMemHostUnregister, page);
  OK(cuMemAllocAsync, &pooled, 512, s.stream);
  Show("pooled", pooled);
  OK(cuMemFreeAsync, pooled, nullptr);
  CUmemoryPool pool;
  if (cuDeviceGetDefaultMemPool(&pool, 0) != CUDA_SUCCESS) exit(6);
  Show("pool", reinterpret_cast<uint64_t>(pool));
  OK(cuMemAllocFromPoolAsync, &pooled, 512, pool, s.stream);
  OK(cuMemFreeAsync, pooled, s.stream);
  CALL(cuMemAlloc, &pooled, size_t{1} << 60);  // fails
}

void Finish(State& s) {
  OK(cuMemFree, s.other);
  OK(cuMemFree, s.block);
  OK(cuMemFreeHost, s.pinned);
  OK(cuEventDestroy, s.event);
  OK(cuStreamDestroy, s.stream);
  OK(cuDevicePrimaryCtxRelease, 0);
  CUcontext own;
  OK(cuCtxCreate, &own, nullptr, 0, 0);
  Show("own_context", reinterpret_cast<uint64_t>(own));
  OK(cuCtxDestroy, own);
}

}  // namespace

int main(int argc, char** argv) {
  g_mode = argc > 1 ? argv[1] : "link";
  g_driver = dlopen("libcuda.so.1", RTLD_NOW);
  State s = Start();
  Launches(s);
  Copies(s);
  Batches(s);
  Memsets(s);
  HostFunctions(s);
  Order(s);
  Contexts(s);
  Memory(s);
  size_t size = 16;
  CALL(cuMemDiscardBatchAsync, &s.block, &size, 1, 0, s.stream);
  Finish(s);
  for (auto& [name, count] : g_calls) printf("calls:%s %u\n", name.c_str(), count);
  return 0;
}
