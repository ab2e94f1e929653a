/* image.h: what `cuModuleLoadData` and `cuLibraryLoadData` of the virtual GPU accept as machine
 * code.
 *
 * A virtual-GPU image is a blob that begins with a magic word and names a table of host functions.
 * It lives in the process that loads it, so pointers in it are plain pointers; a kernel whose `run`
 * is null is looked up by `symbol` in the running program (an executable needs -rdynamic for that).
 * The driver copies the table at load time; names and functions must outlive the module.
 *
 * Instead, the machine code of a real GPU may be loaded (a cubin, or a fat binary that is not
 * compressed): its kernels run as the host functions of the same name that the program gave to
 * vgpu_register (vgpu::RegisterKernels in kernel.h), with the parameters where the cubin says.
 */
#ifndef VGPU_IMAGE_H_
#define VGPU_IMAGE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VGPU_IMAGE_MAGIC "VGPUIMG"
#define VGPU_IMAGE_VERSION 1

/* One launch, as a kernel sees it. Dimensions as in CUDA: x, y, z. */
typedef struct vgpu_grid {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
} vgpu_grid;

/* Runs all threads of block number `block` (linear, x fastest), one after another. `parameters` is
 * laid out as the kernel's table entry says. Between two calls work of other streams may run. */
typedef void (*vgpu_run_block)(const vgpu_grid* grid, uint32_t block, const void* parameters);

typedef struct vgpu_parameter {
  uint32_t offset;
  uint32_t size;
} vgpu_parameter;

typedef struct vgpu_kernel {
  const char* name;
  vgpu_run_block run;
  const char* symbol;
  const vgpu_parameter* parameters;
  uint32_t parameter_count;
} vgpu_kernel;

/* Exported by the virtual GPU. What `kernels` points to is copied, names and layouts are not. */
typedef void (*vgpu_register_fn)(const vgpu_kernel* kernels, uint32_t count);

typedef struct vgpu_image {
  char magic[8];
  uint32_t version;
  uint32_t kernel_count;
  const vgpu_kernel* kernels;
} vgpu_image;

#ifdef __cplusplus
}
#endif
#endif /* VGPU_IMAGE_H_ */
