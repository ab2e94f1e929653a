// Modules, libraries and their kernels.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "api.h"
#include "vgpu/image.h"

using namespace ss::vgpu;

namespace {

std::unique_ptr<Function> Load(const vgpu_kernel& kernel, Module* module) {
  auto function = std::make_unique<Function>();
  function->name = kernel.name;
  function->module = module;
  function->run = kernel.run;
  if (!function->run && kernel.symbol) {
    function->run = reinterpret_cast<vgpu_run_block>(dlsym(RTLD_DEFAULT, kernel.symbol));
  }
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const vgpu_parameter& parameter = kernel.parameters[i];
    function->parameters.emplace_back(parameter.offset, parameter.size);
    function->parameter_bytes =
        std::max(function->parameter_bytes, parameter.offset + parameter.size);
  }
  return function;
}

// Machine code of a real GPU and other unknown data is refused, with the reason on stderr.
CUresult LoadImage(Call& call, const void* data, Context* context, Registry<Module>& registry,
                   Module** loaded) {
  const auto* image = static_cast<const vgpu_image*>(data);
  if (!image) return CUDA_ERROR_INVALID_VALUE;
  if (std::memcmp(image->magic, VGPU_IMAGE_MAGIC, sizeof image->magic) != 0 ||
      image->version != VGPU_IMAGE_VERSION) {
    std::fprintf(stderr, "vgpu: the module is no virtual-GPU image (see vgpu/kernel.h)\n");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto module = std::make_unique<Module>();
  module->context = context;
  for (uint32_t i = 0; i < image->kernel_count; ++i) {
    auto function = Load(image->kernels[i], module.get());
    if (!function->run) {
      std::fprintf(stderr, "vgpu: kernel %s has no host function\n", function->name.c_str());
      return CUDA_ERROR_INVALID_IMAGE;
    }
    module->functions.push_back(std::move(function));
  }
  for (const auto& function : module->functions) call.machine.functions.insert(function.get());
  *loaded = registry.Add(std::move(module));
  return CUDA_SUCCESS;
}

CUresult LoadModule(CUmodule* handle, const void* image) {
  VGPU_ENTER_CONTEXT(call);
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  Module* module = nullptr;
  const CUresult result = LoadImage(call, image, call.context, call.machine.modules, &module);
  if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUmodule>(module);
  return result;
}

// Kernels still queued hold what they need: unloading never pulls code from under them.
CUresult Unload(Call& call, Registry<Module>& registry, Module* module) {
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& function : module->functions) call.machine.functions.erase(function.get());
  registry.Remove(module);
  return CUDA_SUCCESS;
}

CUresult FindFunction(const Module* module, const char* name, Function** found) {
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!name || !found) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& function : module->functions) {
    if (function->name != name) continue;
    *found = function.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

template <typename Handle>
CUresult Enumerate(const Module* module, Handle* handles, unsigned int count) {
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!handles) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count && i < module->functions.size(); ++i) {
    handles[i] = reinterpret_cast<Handle>(module->functions[i].get());
  }
  return CUDA_SUCCESS;
}

template <typename Handle>
const Function* Known(const Call& call, Handle handle) {
  const auto* function = reinterpret_cast<const Function*>(handle);
  return call.machine.functions.contains(function) ? function : nullptr;
}

CUresult ParamInfo(const Function* function, size_t index, size_t* offset, size_t* size) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (!offset || index >= function->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->parameters[index].first;
  if (size) *size = function->parameters[index].second;
  return CUDA_SUCCESS;
}

CUresult Name(const Function* function, const char** name) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

CUresult FunctionAttribute(const Function* function, CUfunction_attribute attribute, int* value) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

}  // namespace

VGPU_EXPORT cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadModule(module, image);
}
VGPU_EXPORT cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadModule(module, image);
}
VGPU_EXPORT cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                               void**) {
  return LoadModule(module, image);
}

VGPU_EXPORT cuModuleUnload(CUmodule handle) {
  VGPU_ENTER(call);
  return Unload(call, call.machine.modules, call.machine.modules.Find(handle));
}

VGPU_EXPORT cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  VGPU_ENTER(call);
  return FindFunction(call.machine.modules.Find(module), name,
                      reinterpret_cast<Function**>(function));
}

VGPU_EXPORT cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
  VGPU_ENTER(call);
  const Module* module = call.machine.modules.Find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule module) {
  VGPU_ENTER(call);
  return Enumerate(call.machine.modules.Find(module), functions, count);
}

VGPU_EXPORT cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**,
                              unsigned int, CUlibraryOption*, void**, unsigned int) {
  VGPU_ENTER(call);
  if (!library) return CUDA_ERROR_INVALID_VALUE;
  Module* module = nullptr;
  const CUresult result = LoadImage(call, image, nullptr, call.machine.libraries, &module);
  if (result == CUDA_SUCCESS) *library = reinterpret_cast<CUlibrary>(module);
  return result;
}

VGPU_EXPORT cuLibraryUnload(CUlibrary handle) {
  VGPU_ENTER(call);
  return Unload(call, call.machine.libraries, call.machine.libraries.Find(handle));
}

VGPU_EXPORT cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  VGPU_ENTER(call);
  return FindFunction(call.machine.libraries.Find(library), name,
                      reinterpret_cast<Function**>(kernel));
}

VGPU_EXPORT cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
  VGPU_ENTER(call);
  const Module* library = call.machine.libraries.Find(handle);
  if (!library) return CUDA_ERROR_INVALID_HANDLE;
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->functions.size());
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary library) {
  VGPU_ENTER(call);
  return Enumerate(call.machine.libraries.Find(library), kernels, count);
}

VGPU_EXPORT cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  VGPU_ENTER_CONTEXT(call);
  if (!Known(call, kernel)) return CUDA_ERROR_INVALID_HANDLE;
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  VGPU_ENTER(call);
  const Function* function = Known(call, kernel);
  if (!function || function->module->context) return CUDA_ERROR_INVALID_HANDLE;
  if (!library) return CUDA_ERROR_INVALID_VALUE;
  *library = reinterpret_cast<CUlibrary>(function->module);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuFuncGetModule(CUmodule* module, CUfunction handle) {
  VGPU_ENTER(call);
  const Function* function = Known(call, handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (!module) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuFuncGetName(const char** name, CUfunction function) {
  VGPU_ENTER(call);
  return Name(Known(call, function), name);
}
VGPU_EXPORT cuKernelGetName(const char** name, CUkernel kernel) {
  VGPU_ENTER(call);
  return Name(Known(call, kernel), name);
}

VGPU_EXPORT cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  VGPU_ENTER(call);
  return ParamInfo(Known(call, function), index, offset, size);
}
VGPU_EXPORT cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  VGPU_ENTER(call);
  return ParamInfo(Known(call, kernel), index, offset, size);
}

VGPU_EXPORT cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  VGPU_ENTER(call);
  return FunctionAttribute(Known(call, function), attribute, value);
}
VGPU_EXPORT cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                 CUdevice) {
  VGPU_ENTER(call);
  return FunctionAttribute(Known(call, kernel), attribute, value);
}
// Shared memory and caches do not exist here: any setting is fine.
VGPU_EXPORT cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int) {
  VGPU_ENTER(call);
  return Known(call, function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
VGPU_EXPORT cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  VGPU_ENTER(call);
  return Known(call, function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
VGPU_EXPORT cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  VGPU_ENTER(call);
  if (!Known(call, function)) return CUDA_ERROR_INVALID_HANDLE;
  if (!state) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
VGPU_EXPORT cuFuncLoad(CUfunction function) {
  VGPU_ENTER(call);
  return Known(call, function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
