// Nothing is linked: argv[1] says how NCCL comes into the process, argv[2] what the program does.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/nccl/api.h"

namespace {

using Body = int (*)(const NcclFunctions*, const char*);

int Show(const char* name, bool value) { return printf("%s %d\n", name, value); }

Body FindBody() {
  void* body = dlopen("libuses_nccl.so", RTLD_NOW | RTLD_LOCAL);
  if (!body) fprintf(stderr, "%s\n", dlerror());
  return body ? reinterpret_cast<Body>(dlsym(body, "RunBody")) : nullptr;
}

// As ctypes and JAX do: by the library's own handle.
int ByHandle(const char* what) {
  NcclFunctions functions{};
  void* nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!nccl) return 3;
#define NCCL_FIND(name, parameters) \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(nccl, "nccl" #name));
  NCCL_API(NCCL_FIND)
#undef NCCL_FIND
  Body body = FindBody();
  return body ? body(&functions, what) : 3;
}

// No NCCL anywhere: nothing may look as if there were one.
int Absent() {
  Show("by_default", dlsym(RTLD_DEFAULT, "ncclAllReduce") != nullptr);
  Show("by_program", dlsym(dlopen(nullptr, RTLD_NOW), "ncclAllReduce") != nullptr);
  Show("versioned", dlvsym(RTLD_DEFAULT, "ncclAllReduce", "NCCL_2") != nullptr);
  Show("own_names", dlsym(RTLD_DEFAULT, "nc") != nullptr || dlsym(RTLD_DEFAULT, "n") != nullptr);
  Show("other_names", dlsym(RTLD_DEFAULT, "ncclNoSuchFunction") != nullptr);
  Show("driver", dlsym(RTLD_DEFAULT, "cuInit") != nullptr);
  return 0;
}

int Hidden() {
  void* library = dlopen("libcontains_nccl.so", RTLD_NOW | RTLD_LOCAL);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library || !driver) return 3;
  auto reduce = reinterpret_cast<int (*)(CUstream)>(dlsym(library, "hidden_all_reduce"));
  auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(driver, "cuInit"));
  using Retain = CUresult (*)(CUcontext*, CUdevice);
  auto retain = reinterpret_cast<Retain>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
  auto set = reinterpret_cast<decltype(&cuCtxSetCurrent)>(dlsym(driver, "cuCtxSetCurrent"));
  CUcontext context;
  if (!reduce || init(0) || retain(&context, 0) || set(context)) return 4;
  Show("by_default", dlsym(RTLD_DEFAULT, "ncclAllReduce") != nullptr);
  return reduce(nullptr);
}

}  // namespace

int main(int, char** argv) {
  if (strcmp(argv[1], "absent") == 0) return Absent();
  if (strcmp(argv[1], "hidden") == 0) return Hidden();
  if (strcmp(argv[1], "handle") == 0) return ByHandle(argv[2]);
  Body body = FindBody();  // as Python opens an extension module
  return body ? body(nullptr, argv[2]) : 3;
}
