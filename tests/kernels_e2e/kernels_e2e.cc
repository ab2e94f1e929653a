// Kernels that nobody annotated, loaded as real machine code, on two streams.
//
//   kernels_e2e CASE WAY [FILE [FILE2]]
//   CASE  racy       one stream writes a buffer that the other reads, unordered
//         fixed      the same with an event between them
//         lookalike  both streams read the buffer, which was written before
//         reload     fixed, the module unloaded, and fixed again with FILE2 (WAY not embedded)
//   WAY   how the code is loaded: embedded | memory | file | library | kernel | library-module
//         (all but `embedded` read FILE, a cubin or a fat binary for sm_90)
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/kernels_e2e/kernels.cu"

extern "C" const char kernels_cubin[];

namespace {

constexpr uint32_t kCount = 4096;

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  exit(4);
}
#define OK(call) Must(call, #call)

struct Kernels {
  CUfunction fill;
  CUfunction twice;
  CUmodule module;    // null: asked of a library
  CUlibrary library;  // null: of a module
};

Kernels FromModule(CUmodule module) {
  Kernels kernels{.module = module};
  OK(cuModuleGetFunction(&kernels.fill, module, "fill"));
  OK(cuModuleGetFunction(&kernels.twice, module, "twice"));
  printf("module %p\n", static_cast<void*>(module));
  return kernels;
}

// `as_function`: the handles that the kernels have in this context, not the library's own.
Kernels FromLibrary(CUlibrary library, bool as_function) {
  CUkernel fill;
  CUkernel twice;
  OK(cuLibraryGetKernel(&fill, library, "fill"));
  OK(cuLibraryGetKernel(&twice, library, "twice"));
  printf("library %p\n", static_cast<void*>(library));
  Kernels kernels{reinterpret_cast<CUfunction>(fill), reinterpret_cast<CUfunction>(twice), nullptr,
                  library};
  if (as_function) {
    OK(cuKernelGetFunction(&kernels.fill, fill));
    OK(cuKernelGetFunction(&kernels.twice, twice));
  }
  return kernels;
}

std::vector<char> Read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Kernels Load(const std::string& way, const char* path) {
  CUmodule module;
  CUlibrary library;
  if (way == "embedded") {
    OK(cuModuleLoadData(&module, kernels_cubin));
    return FromModule(module);
  }
  if (way == "file") {
    OK(cuModuleLoad(&module, path));
    return FromModule(module);
  }
  std::vector<char> bytes = Read(path);
  if (way == "memory") {
    OK(cuModuleLoadData(&module, bytes.data()));
    return FromModule(module);
  }
  OK(cuLibraryLoadData(&library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  if (way != "library-module") return FromLibrary(library, way == "kernel");
  OK(cuLibraryGetModule(&module, library));
  Kernels kernels = FromModule(module);
  kernels.library = library;
  return kernels;
}

struct Run {
  Kernels kernels;
  CUstream writer;
  CUstream reader;
  CUdeviceptr shared;
  CUdeviceptr first;
  CUdeviceptr second;

  void Launch(CUfunction function, CUstream stream, void** parameters) const {
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
  void Fill(CUstream stream, CUdeviceptr out, float value) const {
    uint32_t count = kCount;
    void* parameters[] = {&out, &value, &count};
    Launch(kernels.fill, stream, parameters);
  }
  void Twice(CUstream stream, CUdeviceptr in, CUdeviceptr out) const {
    uint32_t count = kCount;
    void* parameters[] = {&in, &out, &count};
    Launch(kernels.twice, stream, parameters);
  }
};

void Case(const Run& run, const std::string& name) {
  CUevent written;
  OK(cuEventCreate(&written, CU_EVENT_DISABLE_TIMING));
  run.Fill(run.writer, run.shared, 1);
  OK(cuEventRecord(written, run.writer));
  if (name != "racy") OK(cuStreamWaitEvent(run.reader, written, 0));
  run.Twice(run.reader, run.shared, run.first);
  if (name == "lookalike") run.Twice(run.writer, run.shared, run.second);
  OK(cuCtxSynchronize());
  OK(cuEventDestroy(written));
  float value = 0;
  OK(cuMemcpyDtoH(&value, run.first, sizeof value));
  printf("result %d\n", static_cast<int>(value));
}

void Reload(Run& run, const std::string& way, char** files) {
  Case(run, "fixed");
  if (run.kernels.library) {
    OK(cuLibraryUnload(run.kernels.library));
  } else {
    OK(cuModuleUnload(run.kernels.module));
  }
  run.kernels = Load(way, files[1]);
  Case(run, "fixed");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  vgpu::RegisterKernels();
  CUcontext context;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  Run run{};
  run.kernels = Load(argv[2], argc > 3 ? argv[3] : nullptr);
  OK(cuStreamCreate(&run.writer, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&run.reader, CU_STREAM_NON_BLOCKING));
  for (CUdeviceptr* block : {&run.shared, &run.first, &run.second}) {
    OK(cuMemAlloc(block, kCount * sizeof(float)));
  }
  printf("shared 0x%llx\nfirst 0x%llx\n", run.shared, run.first);
  if (std::string(argv[1]) != "reload") {
    Case(run, argv[1]);
  } else if (argc > 4) {
    Reload(run, argv[2], argv + 3);
  }
  return 0;
}
