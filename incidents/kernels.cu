// The kernels of all incidents, for nvcc and for the virtual GPU. Pointers come first in every parameter
// list (kernel_table.cc relies on it). The arithmetic is a stand-in: affine maps, exact in float, so that
// every element has one right value.
#include "vgpu/kernel.h"

// values[i] = base + i % 7: what a layer has computed.
VGPU_KERNEL(produce, (float* values, float base, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) values[i] = base + i % 7;
}

// to = scale * from + shift.
VGPU_KERNEL(transform, (float* to, const float* from, float scale, float shift, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) to[i] = scale * from[i] + shift;
}

// Communication looks the same to memory: a read of what others sent, a write of what arrives.
VGPU_KERNEL(exchange, (float* received, const float* sent, float scale, float shift, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) received[i] = scale * sent[i] + shift;
}

// The backward of unpermute: the gradient of the routing probabilities needs the saved forward output.
VGPU_KERNEL(unpermute_backward,
            (float* probability_gradient, float* gradient, const float* saved, float scale, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) {
    probability_gradient[i] = scale * saved[i];
    gradient[i] = scale + i % 7;
  }
}

// hidden = 2 * gradient; input = hidden + gradient + saved.
VGPU_KERNEL(expert_backward,
            (float* hidden, float* input, const float* gradient, const float* saved, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) {
    hidden[i] = 2 * gradient[i];
    input[i] = hidden[i] + gradient[i] + saved[i];
  }
}

// total += part.
VGPU_KERNEL(accumulate, (float* total, const float* part, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) total[i] += part[i];
}

// A deterministic framework's fill of fresh memory: quiet NaN.
VGPU_KERNEL(fill_nan, (uint32_t* values, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) values[i] = 0x7fc00000u;
}

// counts[0] += NaNs, counts[1] += other values that are not base + slope * (i % 7).
VGPU_KERNEL(check, (uint32_t* counts, const float* values, float base, float slope, uint32_t n)) {
  for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) {
    const float value = values[i];
    if (value != value) {
      vgpu_add(&counts[0], 1);
    } else if (value != base + slope * static_cast<float>(i % 7)) {
      vgpu_add(&counts[1], 1);
    }
  }
}

// Other work of a stream, which makes what is queued behind it late.
VGPU_KERNEL(busy, (uint64_t delay_ns)) { vgpu_delay(delay_ns); }
