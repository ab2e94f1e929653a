// Interprocess handles (rule 8).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "api_graph.h"
#include "ipc.h"

using namespace ss::vgpu;

namespace {

constexpr uint64_t kMagic = 0x7667'7075'6970'6331;  // "vgpuipc1"
constexpr uint64_t kPage = 4096;

// What the 64 bytes of a handle hold.
struct Contents {
  uint64_t magic = 0;
  int32_t process = 0, file = 0;
  uint64_t offset = 0, bytes = 0, serial = 0;
  int32_t device = 0, event = 0;
};
static_assert(sizeof(Contents) <= CU_IPC_HANDLE_SIZE);

template <typename Handle>
void Write(const Contents& contents, Handle* handle) {
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &contents, sizeof contents);
}

// A handle is not for the process that made it.
template <typename Handle>
CUresult Read(const Handle& handle, bool event, Contents* contents) {
  std::memcpy(static_cast<void*>(contents), &handle, sizeof *contents);
  if (contents->magic != kMagic || contents->event != event) return CUDA_ERROR_INVALID_VALUE;
  return contents->process == getpid() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

// What was opened before is opened once more.
Block* Opened(Memory& memory, const Contents& contents) {
  for (auto& [base, block] : memory.blocks()) {
    if (block.opened != 0 && block.handle == std::pair{contents.process, contents.serial}) {
      return &block;
    }
  }
  return nullptr;
}

Block* MapForeign(Call& call, const Contents& contents) {
  const int file = OpenFileOf(contents.process, contents.file);
  if (file < 0) return nullptr;
  const uint64_t before = contents.offset % kPage;
  void* at = mmap(nullptr, contents.bytes + before, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                  static_cast<off_t>(contents.offset - before));
  close(file);
  if (at == MAP_FAILED) return nullptr;
  Block block;
  block.base = reinterpret_cast<uint64_t>(at) + before;
  block.bytes = block.reserved = contents.bytes;
  block.kind = MemoryKind::kDevice;
  block.context = RootOf(call.context);
  block.device = contents.device;
  block.mapped = true;
  block.handle = {contents.process, contents.serial};
  return call.machine.memory->Adopt(block);
}

}  // namespace

VGPU_EXPORT cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  VGPU_ENTER_CONTEXT(call);
  Block* block = call.machine.memory->Find(address);
  const bool exportable =
      block && block->kind == MemoryKind::kDevice && !block->pool && !block->mapped;
  if (!handle || !exportable) return CUDA_ERROR_INVALID_VALUE;
  call.machine.WaitForSlice(call.lock);
  block = call.machine.memory->Find(address);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  const int file = call.machine.memory->ShareDevice(block->device);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t offset = block->base - call.machine.memory->device(block->device).base();
  Write({kMagic, getpid(), file, offset, block->bytes, block->serial, block->device, 0}, handle);
  return CUDA_SUCCESS;
}

#undef cuIpcOpenMemHandle
VGPU_EXPORT cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  VGPU_ENTER_CONTEXT(call);
  if (!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  Contents contents;
  if (const CUresult error = Read(handle, false, &contents)) return error;
  Block* block = Opened(*call.machine.memory, contents);
  if (!block) block = MapForeign(call, contents);
  if (!block) return CUDA_ERROR_MAP_FAILED;
  ++block->opened;
  *address = block->base;
  return CUDA_SUCCESS;
}

// Waits for the device: what is still under way would run into nothing.
VGPU_EXPORT cuIpcCloseMemHandle(CUdeviceptr address) {
  VGPU_ENTER_CONTEXT(call);
  Block* block = call.machine.memory->Find(address);
  if (!block || block->base != address || block->opened == 0) return CUDA_ERROR_INVALID_VALUE;
  if (--block->opened != 0) return CUDA_SUCCESS;
  if (const CUresult error = call.Wait(call.machine.DeviceTails(block->device))) return error;
  const uint64_t before = address % kPage;
  munmap(reinterpret_cast<void*>(address - before), block->bytes + before);
  call.machine.memory->Release(block);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event_handle) {
  VGPU_ENTER_CONTEXT(call);
  const Event* event = call.machine.events.Find(event_handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (!handle || !event->shared) return CUDA_ERROR_INVALID_VALUE;
  Contents contents{kMagic, getpid(), event->shared->file()};
  contents.event = 1;
  Write(contents, handle);
  return CUDA_SUCCESS;
}

VGPU_EXPORT cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  VGPU_ENTER_CONTEXT(call);
  if (!event) return CUDA_ERROR_INVALID_VALUE;
  Contents contents;
  if (const CUresult error = Read(handle, true, &contents)) return error;
  auto shared = SharedEvent::Open(contents.process, contents.file);
  if (!shared) return CUDA_ERROR_MAP_FAILED;
  auto made = std::make_unique<Event>();
  made->context = RootOf(call.context);
  made->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  made->shared = std::move(shared);
  *event = reinterpret_cast<CUevent>(call.machine.events.Add(std::move(made)));
  return CUDA_SUCCESS;
}

// --- what the other files ask

NewOp ss::vgpu::RecordOf(Event& event) {
  NewOp record{Work::kMarker, "record"};
  if (!event.shared) return record;
  event.own_record = event.shared->Issue();
  record.run = [shared = event.shared, number = event.own_record](uint32_t) {
    shared->Complete(number);
  };
  return record;
}

bool ss::vgpu::RecordedElsewhere(const Event& event) {
  return event.shared && event.shared->Last() != 0 && event.shared->Last() != event.own_record;
}

NewOp ss::vgpu::WaitFor(const Event& event) {
  NewOp wait{Work::kMarker, "wait"};
  if (RecordedElsewhere(event)) {
    wait.gate = [shared = event.shared, number = event.shared->Last()] {
      return shared->Done(number);
    };
    wait.by_cpu = true;  // it comes from outside of this device
  } else if (event.record) {
    wait.after.push_back(event.record);
  }
  return wait;
}

bool ss::vgpu::DoneElsewhere(const Event& event) {
  return event.shared->Done(event.shared->Last());
}

CUresult ss::vgpu::SynchronizeElsewhere(Call& call, const Event& event) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options().timeout_ms);
  const auto shared = event.shared;
  const uint64_t number = shared->Last();
  while (!shared->Done(number)) {
    if (std::chrono::steady_clock::now() > until) return CUDA_ERROR_LAUNCH_TIMEOUT;
    call.lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    call.lock.lock();
  }
  return CUDA_SUCCESS;
}

// --- files

int ss::vgpu::OpenFileOf(int process, int file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, file);
  return open(path, O_RDWR | O_CLOEXEC);
}

std::shared_ptr<SharedEvent> SharedEvent::Map(int file) {
  void* at = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) {
    return std::shared_ptr<SharedEvent>(new SharedEvent(file, static_cast<State*>(at)));
  }
  close(file);
  return nullptr;
}

std::shared_ptr<SharedEvent> SharedEvent::Make() {
  const int file = memfd_create("vgpu-event", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  if (ftruncate(file, sizeof(State)) == 0) return Map(file);
  close(file);
  return nullptr;
}

std::shared_ptr<SharedEvent> SharedEvent::Open(int process, int file) {
  const int opened = OpenFileOf(process, file);
  return opened < 0 ? nullptr : Map(opened);
}

SharedEvent::~SharedEvent() {
  munmap(state_, sizeof(State));
  close(file_);
}
