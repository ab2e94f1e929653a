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

template <class F>
F* Find(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

bool StartDriver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!driver) return false;
  CUcontext context;
  using Retain = CUresult(CUcontext*, CUdevice);
  return Find<decltype(cuInit)>(driver, "cuInit")(0) == 0 &&
         Find<Retain>(driver, "cuDevicePrimaryCtxRetain")(&context, 0) == 0 &&
         Find<decltype(cuCtxSetCurrent)>(driver, "cuCtxSetCurrent")(context) == 0;
}

// What the second one calls by its own public names must not end in the first.
int Second() {
  void* first = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  void* second = dlopen("libnccl_second.so", RTLD_NOW | RTLD_LOCAL);
  if (!first || !second || !StartDriver()) return 3;
  NcclId id{};
  id.bytes[127] = 'z';
  NcclComm comm = nullptr, other = nullptr;
  CUstream stream = nullptr;
  int failed = Find<decltype(ncclCommInitRank)>(first, "ncclCommInitRank")(&comm, 2, id, 0);
  failed += Find<decltype(ncclBcast)>(first, "ncclBcast")(nullptr, 1, 7, 0, comm, stream);
  failed += Find<decltype(ncclCommInitRank)>(second, "ncclCommInitRank")(&other, 2, id, 0);
  for (int i = 0; i < 2; ++i) {
    failed += Find<decltype(ncclBcast)>(second, "ncclBcast")(nullptr, 1, 7, 0, other, stream);
  }
  printf("in_first %u\n", Find<unsigned()>(first, "nccl_stand_in_kernels")());
  printf("in_second %u\n", Find<unsigned()>(second, "nccl_stand_in_kernels")());
  return failed;
}

// An NCCL inside another library, of which no symbol tells.
int Hidden(const char* what) {
  void* library = dlopen("libcontains_nccl.so", RTLD_NOW | RTLD_LOCAL);
  auto* functions = library ? Find<const NcclFunctions*()>(library, "hidden_nccl") : nullptr;
  Body body = FindBody();
  return functions && body ? body(functions(), what) : 3;
}

}  // namespace

int main(int, char** argv) {
  if (strcmp(argv[1], "absent") == 0) return Absent();
  if (strcmp(argv[1], "hidden") == 0) return Hidden(argv[2]);
  if (strcmp(argv[1], "second") == 0) return Second();
  if (strcmp(argv[1], "handle") == 0) return ByHandle(argv[2]);
  Body body = FindBody();  // as Python opens an extension module
  return body ? body(nullptr, argv[2]) : 3;
}
