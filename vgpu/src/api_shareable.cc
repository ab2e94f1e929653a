// Shareable handles (rule 8): descriptors behind which memory lies, and what a pool's pointers are
// in another process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "api_graph.h"
#include "ipc.h"

using namespace ss::vgpu;

namespace {

constexpr uint64_t kMagic = 0x7667'7075'706f'6f6c;  // "vgpupool"
constexpr uint64_t kPage = 4096;

// What the 64 bytes say of a pool's pointer: nothing that names the process or the pool.
struct Contents {
  uint64_t magic = 0, offset = 0, bytes = 0;
};
static_assert(sizeof(Contents) <= sizeof(CUmemPoolPtrExportData));

std::string NameOf(const char* what, int device) {
  return "vgpu-" + std::string(what) + "-" + std::to_string(device);
}

// Another description of the same file.
int Again(int file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return open(path, O_RDWR | O_CLOEXEC);
}

}  // namespace

int ss::vgpu::MakeFile(const char* what, int device) {
  return memfd_create(NameOf(what, device).c_str(), MFD_CLOEXEC);
}

CUresult ss::vgpu::ExportFile(int file, void* shareable) {
  const int out = Again(file);
  if (out < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(shareable) = out;
  return CUDA_SUCCESS;
}

ImportedFile ss::vgpu::ImportFile(const char* what, void* shareable) {
  const int given = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
  char path[64], name[128] = "";
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", given);
  if (readlink(path, name, sizeof name - 1) < 0) return {};
  struct stat state = {};
  if (fstat(given, &state) != 0) return {};
  for (int device = 0; ValidDevice(device); ++device) {
    if (std::string(name).find("/memfd:" + NameOf(what, device) + " ") != 0) continue;
    return {Again(given), static_cast<uint64_t>(state.st_size), device};
  }
  return {};
}

VGPU_EXPORT cuMemPoolExportToShareableHandle(void* shareable, CUmemoryPool handle,
                                             CUmemAllocationHandleType type,
                                             unsigned long long flags) {
  VGPU_ENTER(call);
  Pool* pool = call.machine.pools.Find(handle);
  if (!shareable || !pool || flags) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (!pool->exportable) return CUDA_ERROR_INVALID_VALUE;
  call.machine.WaitForSlice(call.lock);
  const int file = call.machine.memory->ShareDevice(pool->device);
  return file < 0 ? CUDA_ERROR_OUT_OF_MEMORY : ExportFile(file, shareable);
}

VGPU_EXPORT cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* shareable,
                                               CUmemAllocationHandleType type,
                                               unsigned long long flags) {
  VGPU_ENTER(call);
  if (!pool || flags) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const ImportedFile imported = ImportFile("device", shareable);
  if (imported.file < 0) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<Pool>();
  made->device = imported.device;
  made->imported = imported.file;
  *pool = reinterpret_cast<CUmemoryPool>(call.machine.pools.Add(std::move(made)));
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  VGPU_ENTER(call);
  const Block* block = call.machine.memory->Find(address);
  const bool exportable = block && block->pool && block->pool->exportable;
  if (!data || !exportable || block->base != address) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t offset = address - call.machine.memory->device(block->device).base();
  const Contents contents{kMagic, offset, block->bytes};
  std::memset(data, 0, sizeof *data);
  std::memcpy(data, &contents, sizeof contents);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool handle,
                                   CUmemPoolPtrExportData* data) {
  VGPU_ENTER_CONTEXT(call);
  Pool* pool = call.machine.pools.Find(handle);
  if (!address || !data || !pool || pool->imported < 0) return CUDA_ERROR_INVALID_VALUE;
  Contents contents;
  std::memcpy(static_cast<void*>(&contents), data, sizeof contents);
  if (contents.magic != kMagic) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t before = contents.offset % kPage;
  void* at = mmap(nullptr, contents.bytes + before, PROT_READ | PROT_WRITE, MAP_SHARED,
                  pool->imported, static_cast<off_t>(contents.offset - before));
  if (at == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  Block block;
  block.base = *address = reinterpret_cast<uint64_t>(at) + before;
  block.bytes = block.reserved = contents.bytes;
  block.kind = MemoryKind::kDevice;
  block.context = call.context;
  block.device = pool->device;
  block.pool = pool;
  pool->used += block.reserved;
  call.machine.memory->Adopt(block);
  return CUDA_SUCCESS;
}
