// Modules, libraries and their kernels.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "api.h"
#include "code.h"
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

CUresult LoadTable(const vgpu_image& image, Module* module) {
  for (uint32_t i = 0; i < image.kernel_count; ++i) {
    auto function = Load(image.kernels[i], module);
    if (!function->run) {
      std::fprintf(stderr, "vgpu: kernel %s has no host function\n", function->name.c_str());
      return CUDA_ERROR_INVALID_IMAGE;
    }
    module->functions.push_back(std::move(function));
  }
  return CUDA_SUCCESS;
}

// Kernels that the program has no host function for are there and cannot be had: real modules hold
// many that a program never uses.
CUresult LoadCode(const void* image, size_t limit, Module* module) {
  std::string error;
  for (const CodeKernel& kernel : ReadCode(image, limit, &error)) {
    auto function = std::make_unique<Function>();
    function->name = kernel.name;
    function->module = module;
    function->parameters = kernel.parameters;
    for (const auto& [offset, size] : kernel.parameters) {
      function->parameter_bytes = std::max(function->parameter_bytes, offset + size);
    }
    ResolveCode(kernel, function.get());
    module->functions.push_back(std::move(function));
  }
  if (error.empty()) return CUDA_SUCCESS;
  std::fprintf(stderr, "vgpu: %s\n", error.c_str());
  return CUDA_ERROR_INVALID_IMAGE;
}

CUresult LoadInto(const void* data, size_t limit, Module* module) {
  const auto* image = static_cast<const vgpu_image*>(data);
  if (IsCode(data) || IsWrapped(data)) return LoadCode(data, limit, module);
  if (std::memcmp(image->magic, VGPU_IMAGE_MAGIC, sizeof image->magic) == 0 &&
      image->version == VGPU_IMAGE_VERSION) {
    return LoadTable(*image, module);
  }
  std::fprintf(stderr, "vgpu: the module is no virtual-GPU image (see vgpu/kernel.h)\n");
  return CUDA_ERROR_INVALID_IMAGE;
}

Module* Enter(Call& call, std::unique_ptr<Module> module, Registry<Module>& registry) {
  for (const auto& function : module->functions) call.machine.functions.insert(function.get());
  return registry.Add(std::move(module));
}

// What is unknown is refused, with the reason on stderr.
CUresult LoadImage(Call& call, const void* data, size_t limit, Context* context,
                   Registry<Module>& registry, Module** loaded) {
  if (!data) return CUDA_ERROR_INVALID_VALUE;
  auto module = std::make_unique<Module>();
  module->context = context;
  if (const CUresult error = LoadInto(data, limit, module.get())) return error;
  *loaded = Enter(call, std::move(module), registry);
  return CUDA_SUCCESS;
}

constexpr size_t kLeastCode = 16;  // a fat binary's header

// A file can only hold machine code: a virtual-GPU image and a wrapper are made of pointers.
CUresult ReadFile(const char* path, std::vector<char>* bytes) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  bytes->assign(std::istreambuf_iterator<char>(file), {});
  const bool is_code = bytes->size() >= kLeastCode && IsCode(bytes->data());
  if (is_code) return CUDA_SUCCESS;
  std::fprintf(stderr, "vgpu: %s is neither a cubin nor a fat binary\n", path);
  return CUDA_ERROR_INVALID_IMAGE;
}

// A library's module in the current context: made when it is first asked for, as lazy loading does,
// with handles of its own.
Module* InContext(Call& call, Module* library) {
  Module* found = nullptr;
  call.machine.modules.Each([&](Module& module) {
    if (module.library == library && module.context == RootOf(call.context)) found = &module;
  });
  if (found) return found;
  auto module = std::make_unique<Module>();
  module->context = RootOf(call.context);
  module->library = library;
  for (const auto& function : library->functions) {
    module->functions.push_back(std::make_unique<Function>(*function));
    module->functions.back()->module = module.get();
  }
  return Enter(call, std::move(module), call.machine.modules);
}

CUresult LoadModule(CUmodule* handle, const void* image, size_t limit = kNoLimit) {
  VGPU_ENTER_CONTEXT(call);
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  Module* module = nullptr;
  const CUresult result =
      LoadImage(call, image, limit, RootOf(call.context), call.machine.modules, &module);
  if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUmodule>(module);
  return result;
}

CUresult LoadLibrary(CUlibrary* handle, const void* image, size_t limit = kNoLimit) {
  VGPU_ENTER(call);
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  Module* library = nullptr;
  const CUresult result = LoadImage(call, image, limit, nullptr, call.machine.libraries, &library);
  if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUlibrary>(library);
  return result;
}

// Kernels still queued hold what they need: unloading never pulls code from under them.
CUresult Unload(Call& call, Registry<Module>& registry, Module* module) {
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (module->library) return CUDA_ERROR_INVALID_HANDLE;  // goes with its library
  const auto forget = [&](const Module& gone) {
    for (const auto& function : gone.functions) call.machine.functions.erase(function.get());
  };
  call.machine.modules.RemoveIf([&](const Module& other) {
    if (other.library == module) forget(other);
    return other.library == module;
  });
  forget(*module);
  registry.Remove(module);
  return CUDA_SUCCESS;
}

CUresult FindFunction(const Module* module, const char* name, Function** found) {
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!name || !found) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& function : module->functions) {
    if (function->name != name) continue;
    if (!function->run) {
      std::fprintf(stderr, "vgpu: kernel %s has no host function (vgpu::RegisterKernels)\n", name);
      return CUDA_ERROR_NOT_FOUND;
    }
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
VGPU_EXPORT cuModuleLoad(CUmodule* module, const char* path) {
  std::vector<char> bytes;
  if (const CUresult error = ReadFile(path, &bytes)) return error;
  return LoadModule(module, bytes.data(), bytes.size());
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
  return LoadLibrary(library, image);
}

VGPU_EXPORT cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                                  unsigned int, CUlibraryOption*, void**, unsigned int) {
  std::vector<char> bytes;
  if (const CUresult error = ReadFile(path, &bytes)) return error;
  return LoadLibrary(library, bytes.data(), bytes.size());
}

VGPU_EXPORT cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  VGPU_ENTER_CONTEXT(call);
  Module* library = call.machine.libraries.Find(handle);
  if (!library) return CUDA_ERROR_INVALID_HANDLE;
  if (!module) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(InContext(call, library));
  return CUDA_SUCCESS;
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
  const Function* known = Known(call, kernel);
  if (!known || known->module->context) return CUDA_ERROR_INVALID_HANDLE;
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  const Module* module = InContext(call, known->module);
  return FindFunction(module, known->name.c_str(), reinterpret_cast<Function**>(function));
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
