// Two kernels without annotations: one writes what the other reads. Compiled by nvcc into the fixtures
// (regenerate.sh) and by the host compiler for the virtual GPU.
#include "vgpu/kernel.h"

VGPU_KERNEL(fill, (float* out, float value, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) out[i] = value;
}

VGPU_KERNEL(twice, (const float* in, float* out, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) out[i] = 2 * in[i];
}
