// kernel.h: a kernel written once, compiled by nvcc for a GPU and by a host compiler for the
// virtual GPU.
//
//   VGPU_KERNEL(scale, (float* x, float k, uint32_t n)) {
//     for (uint32_t i = vgpu_thread(); i < n; i += vgpu_threads()) x[i] *= k;
//   }
//
// nvcc makes it an extern "C" __global__ function; the host compiler makes a function and enters it
// in the table that vgpu::Image() hands to cuModuleLoadData. The threads of a block run one after
// another on the host, so a kernel here must not need __syncthreads or a block-wide shared array:
// rejected was emulating them with a fiber a thread, because grid-stride kernels are all that
// host-side ordering needs.
#pragma once

#include <stdint.h>

#ifdef __CUDACC__

#define VGPU_KERNEL(name, parameters) extern "C" __global__ void name parameters

static __device__ inline uint32_t vgpu_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ inline uint32_t vgpu_threads() { return gridDim.x * blockDim.x; }

static __device__ inline void vgpu_add(uint32_t* at, uint32_t value) { atomicAdd(at, value); }

// Keeps the kernel busy for `ns` before it goes on, so that a missing edge has time to show.
static __device__ inline void vgpu_delay(uint64_t ns) {
  uint64_t start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}

#else

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "vgpu/image.h"

namespace vgpu {

struct ThreadPlace {
  uint32_t thread = 0;   // linear over the grid
  uint32_t threads = 1;  // in the grid
};
inline thread_local ThreadPlace place;

// The kernels of this executable or shared object; filled by static initialisers.
inline std::vector<vgpu_kernel>& Kernels() {
  static std::vector<vgpu_kernel> kernels;
  return kernels;
}

// Lays parameters out as the CUDA ABI does: each at the next multiple of its alignment.
template <typename... Args>
constexpr auto Layout() {
  struct {
    vgpu_parameter at[sizeof...(Args) + 1];
  } layout{};
  const uint32_t sizes[] = {sizeof(Args)..., 0};
  const uint32_t aligns[] = {alignof(Args)..., 1};
  uint32_t next = 0;
  for (size_t i = 0; i < sizeof...(Args); ++i) {
    next = (next + aligns[i] - 1) / aligns[i] * aligns[i];
    layout.at[i] = {next, sizes[i]};
    next += sizes[i];
  }
  return layout;
}

template <auto kernel>
struct Adapter;

template <typename... Args, void (*kernel)(Args...)>
struct Adapter<kernel> {
  static constexpr auto kLayout = Layout<Args...>();

  template <size_t... I>
  static std::tuple<Args...> Unpack(const void* parameters, std::index_sequence<I...>) {
    std::tuple<Args...> values;
    const char* bytes = static_cast<const char*>(parameters);
    (std::memcpy(&std::get<I>(values), bytes + kLayout.at[I].offset, sizeof(Args)), ...);
    return values;
  }

  static void RunBlock(const vgpu_grid* grid, uint32_t block, const void* parameters) {
    const uint32_t in_block = grid->block[0] * grid->block[1] * grid->block[2];
    const auto values = Unpack(parameters, std::index_sequence_for<Args...>());
    place.threads = grid->grid[0] * grid->grid[1] * grid->grid[2] * in_block;
    for (uint32_t thread = 0; thread < in_block; ++thread) {
      place.thread = block * in_block + thread;
      std::apply(kernel, values);
    }
  }

  static vgpu_kernel Entry(const char* name) {
    return {name, &RunBlock, nullptr, kLayout.at, sizeof...(Args)};
  }
};

struct Registration {
  explicit Registration(const vgpu_kernel& kernel) { Kernels().push_back(kernel); }
};

// What to give to cuModuleLoadData. Call it after static initialisation.
inline const vgpu_image* Image() {
  static const vgpu_image image = {VGPU_IMAGE_MAGIC, VGPU_IMAGE_VERSION,
                                   static_cast<uint32_t>(Kernels().size()), Kernels().data()};
  return &image;
}

// Makes this program's kernels run in place of those of the same name in machine code that is
// loaded from now on. Does nothing on a real driver.
inline void RegisterKernels() {
  auto give = reinterpret_cast<vgpu_register_fn>(dlsym(RTLD_DEFAULT, "vgpu_register"));
  if (give) give(Kernels().data(), static_cast<uint32_t>(Kernels().size()));
}

}  // namespace vgpu

#define VGPU_KERNEL(name, parameters)                         \
  static void name parameters;                                \
  static const ::vgpu::Registration vgpu_registration_##name( \
      ::vgpu::Adapter<&name>::Entry(#name));                  \
  static void name parameters

static inline uint32_t vgpu_thread() { return ::vgpu::place.thread; }
static inline uint32_t vgpu_threads() { return ::vgpu::place.threads; }
// Blocks never run at the same time here.
static inline void vgpu_add(uint32_t* at, uint32_t value) { *at += value; }
// The scheduler of the virtual GPU decides how long a kernel takes.
static inline void vgpu_delay(uint64_t) {}

#endif  // __CUDACC__
