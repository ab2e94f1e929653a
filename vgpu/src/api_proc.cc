// cuGetProcAddress, functions that are not there, and the controls of control.h.
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "api.h"
#include "generated.h"

using namespace ss::vgpu;

namespace {

void* Symbol(const std::string& name) {
  static const auto& table = *[] {
    auto* made = new std::unordered_map<std::string, void*>;
    for (const GeneratedFunction& function : Functions())
      made->emplace(function.name, function.address);
    return made;
  }();
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

// How many variants of a function a program built for `version` knows of, oldest first; -1 = no
// list.
int VariantsKnown(const std::string& name, int version) {
  int listed = 0, known = 0;
  for (const GeneratedVersion& variant : Versions()) {
    if (name != variant.name) continue;
    ++listed;
    if (variant.version <= version) ++known;
  }
  return listed ? known : -1;
}

// The variant that cuda.h of `version` would name, in its per-thread form where asked for and where
// it exists.
void* Variant(const std::string& name, int known, bool per_thread) {
  constexpr int kNewest = 4;
  for (int variant = known < 0 ? kNewest : known; variant >= 1; --variant) {
    const std::string versioned = variant == 1 ? name : name + "_v" + std::to_string(variant);
    if (per_thread) {
      if (void* found = Symbol(versioned + "_ptsz")) return found;
      if (void* found = Symbol(versioned + "_ptds")) return found;
    }
    if (void* found = Symbol(versioned)) return found;
  }
  return nullptr;
}

CUresult Lookup(const char* name, void** address, int version, cuuint64_t flags,
                CUdriverProcAddressQueryResult* status, DefaultStream which) {
  if (!name || !*name || !address) return CUDA_ERROR_INVALID_VALUE;
  if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread =
      flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
      (flags == CU_GET_PROC_ADDRESS_DEFAULT && which == DefaultStream::kPerThread);
  const int known = VariantsKnown(name, version);
  *address = known == 0 ? nullptr : Variant(name, known, per_thread);
  if (status) {
    *status = *address     ? CU_GET_PROC_ADDRESS_SUCCESS
              : known == 0 ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *address || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

#undef cuGetProcAddress
VGPU_STREAM_EXPORT(cuGetProcAddress, _ptsz,
                   (const char* name, void** address, int version, cuuint64_t flags),
                   Lookup(name, address, version, flags, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuGetProcAddress_v2, _ptsz,
                   (const char* name, void** address, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status),
                   Lookup(name, address, version, flags, status, kDefault))

// Where the generated stubs end up. Says it once for each function: a program that goes on as if
// the call had worked should not have to guess.
extern "C" int vgpu_unsupported(const char* name) {
  static std::mutex mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (said.insert(name).second) std::fprintf(stderr, "vgpu: %s is not implemented\n", name);
  return CUDA_ERROR_NOT_SUPPORTED;
}

extern "C" __attribute__((visibility("default"))) int vgpu_reset(const char* policy,
                                                                 uint64_t seed) {
  return Machine::Get().Restart(policy, seed);
}

extern "C" __attribute__((visibility("default"))) uint64_t vgpu_steps() {
  auto lock = Machine::Get().Lock();
  return Machine::Get().step();
}
