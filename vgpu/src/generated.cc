#include "generated.h"

// The generated files are C and know nothing of namespaces.
extern "C" {
extern const ss::vgpu::GeneratedFunction vgpu_functions[];
extern const unsigned vgpu_function_count;
extern const ss::vgpu::GeneratedVersion vgpu_versions[];
extern const unsigned vgpu_version_count;
extern const ss::vgpu::GeneratedError vgpu_errors[];
}

namespace ss::vgpu {

std::span<const GeneratedFunction> Functions() { return {vgpu_functions, vgpu_function_count}; }

std::span<const GeneratedVersion> Versions() { return {vgpu_versions, vgpu_version_count}; }

const GeneratedError* FindError(int code) {
  for (const GeneratedError* error = vgpu_errors; error->name; ++error) {
    if (error->code == code) return error;
  }
  return nullptr;
}

}  // namespace ss::vgpu
