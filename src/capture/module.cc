// Modules and libraries: which machine code a kernel's handle stands for.
#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/image_table.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

template <class T>
uint64_t Handle(T* handle) {
  return reinterpret_cast<uint64_t>(handle);
}

// After the call, when the driver has shown that the image is one. The handle reaches the program's
// other threads later than the records get their numbers.
template <class T>
CUresult Loaded(Call& call, T** handle, const void* image, CUresult result) {
  if (result == CUDA_SUCCESS) {
    NoteImageLoad(*call.thread, TheImage(*call.thread, image), Handle(*handle));
  }
  return result;
}

template <class T>
CUresult LoadedFile(Call& call, T** handle, const char* path, CUresult result) {
  if (result == CUDA_SUCCESS) {
    NoteImageLoad(*call.thread, TheImageOfFile(*call.thread, path), Handle(*handle));
  }
  return result;
}

}  // namespace

CUresult ModuleLoad(Call& call, CUmodule* module, const char* path) {
  CUresult result = call.Forward(module, path);
  return LoadedFile(call, module, path, result);
}

CUresult ModuleLoadData(Call& call, CUmodule* module, const void* image) {
  CUresult result = call.Forward(module, image);
  return Loaded(call, module, image, result);
}

CUresult ModuleLoadDataEx(Call& call, CUmodule* module, const void* image, unsigned count,
                          CUjit_option* options, void** values) {
  CUresult result = call.Forward(module, image, count, options, values);
  return Loaded(call, module, image, result);
}

// What it makes is loaded with cuModuleLoadData like any other image: counted, nothing to record.
CUresult LinkComplete(Call& call, CUlinkState state, void** image, size_t* bytes) {
  return call.Forward(state, image, bytes);
}

CUresult LibraryLoadData(Call& call, void** library, const void* image, CUjit_option* jit_options,
                         void** jit_values, unsigned jit_count, void* options, void** values,
                         unsigned count) {
  CUresult result =
      call.Forward(library, image, jit_options, jit_values, jit_count, options, values, count);
  return Loaded(call, library, image, result);
}

CUresult LibraryLoadFromFile(Call& call, void** library, const char* path,
                             CUjit_option* jit_options, void** jit_values, unsigned jit_count,
                             void* options, void** values, unsigned count) {
  CUresult result =
      call.Forward(library, path, jit_options, jit_values, jit_count, options, values, count);
  return LoadedFile(call, library, path, result);
}

CUresult LibraryGetModule(Call& call, CUmodule* module, void* library) {
  CUresult result = call.Forward(module, library);
  if (result == CUDA_SUCCESS) NoteSameImage(*call.thread, Handle(library), Handle(*module));
  return result;
}

CUresult LibraryGetKernel(Call& call, void** kernel, void* library, const char* name) {
  CUresult result = call.Forward(kernel, library, name);
  if (result == CUDA_SUCCESS) NoteOwner(Handle(*kernel), Handle(library));
  return result;
}

CUresult LibraryEnumerateKernels(Call& call, void** kernels, unsigned count, void* library) {
  CUresult result = call.Forward(kernels, count, library);
  if (result != CUDA_SUCCESS || !TheDriver().library_get_kernel_count) return result;
  unsigned there = 0;
  if (TheDriver().library_get_kernel_count(&there, library) != CUDA_SUCCESS) return result;
  for (unsigned i = 0; i < count && i < there; ++i) NoteOwner(Handle(kernels[i]), Handle(library));
  return result;
}

CUresult KernelGetFunction(Call& call, CUfunction* function, void* kernel) {
  CUresult result = call.Forward(function, kernel);
  uint64_t library = result == CUDA_SUCCESS ? OwnerOf(Handle(kernel)) : 0;
  if (library) NoteOwner(Handle(*function), library);
  return result;
}

// Handles of functions come back with other parameters once their module is gone.
CUresult ModuleUnload(Call& call, CUmodule module) {
  ForgetImageLoad(Handle(module));  // before: another thread may be given the handle at once
  CUresult result = call.Forward(module);
  ForgetFunctions();
  return result;
}

CUresult LibraryUnload(Call& call, void* library) {
  ForgetImageLoad(Handle(library));
  CUresult result = call.Forward(library);
  ForgetFunctions();
  return result;
}

}  // namespace ss::capture
