#include "tests/capture/calls_kernels.h"

#include "vgpu/kernel.h"

VGPU_KERNEL(touch, (TenPointers p, uint32_t n, float* last)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) {
    static_cast<float*>(p.at[0])[i] = 1;
    last[i] = 2;
  }
}

VGPU_KERNEL(ten, (float* a, float* b, float* c, float* d, float* e, float* f, float* g, float* h,
                  float* i, float* j)) {
  if (vgpu_thread() == 0) a[0] = b[0] = c[0] = d[0] = e[0] = f[0] = g[0] = h[0] = i[0] = j[0] = 1;
}

const void* KernelImage() { return vgpu::Image(); }
