#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/modules.h"
#include "src/capture/ranges.h"
#include "src/capture/stack.h"

namespace ss::capture {
namespace {

// The schema's `kind`.
enum MemoryKind : uint64_t {
  kDevice = 1,
  kPinned,
  kRegistered,
  kManaged,
  kVariable = 7,
  kManagedVariable
};

template <class Pointer>
uint64_t Address(Pointer pointer) {
  return (uint64_t)pointer;
}

struct Site {
  uint64_t context;
  uint64_t stack;
  bool is_private;

  explicit Site(Call& call)
      : context(CurrentContext(*call.thread)), stack(call.Stack()), is_private(IsPrivate(call)) {}
};

void Widen(MemoryKind kind, uint64_t address, uint64_t bytes) {
  bool host = kind == kPinned || kind == kRegistered;
  (host ? g_ranges.host : g_ranges.device).Widen(address, address + bytes);
}

CUresult Allocated(Call& call, const Site& site, MemoryKind kind, uint64_t address, uint64_t bytes,
                   CUresult result) {
  if (result == CUDA_SUCCESS) Widen(kind, address, bytes);
  call.Emit(trace::view::Alloc{.address = result == CUDA_SUCCESS ? address : 0,
                               .bytes = bytes,
                               .kind = kind,
                               .context = site.context,
                               .is_private = site.is_private,
                               .result = result,
                               .stack = site.stack});
  return result;
}

template <class Pointer>
CUresult Freed(Call& call, MemoryKind kind, Pointer pointer) {
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(pointer);
  call.Emit(trace::view::Free{
      .address = Address(pointer), .kind = kind, .result = result, .stack = stack});
  return result;
}

template <class... A>
CUresult AllocateAsync(Call& call, CUstream stream, CUmemoryPool pool, CUdeviceptr* address,
                       size_t bytes, A... more) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  bool is_private = IsPrivate(call);
  CUresult result = call.Forward(address, bytes, more...);
  if (result == CUDA_SUCCESS) Widen(kDevice, *address, bytes);
  call.Emit(trace::view::AllocAsync{.address = result == CUDA_SUCCESS ? *address : 0,
                                    .bytes = bytes,
                                    .pool = Address(pool),
                                    .stream = handle,
                                    .context = context,
                                    .is_private = is_private,
                                    .result = result,
                                    .stack = stack,
                                    .graph_node = NodeOf(handle)});
  return result;
}

}  // namespace

// Libraries that link the CUDA runtime statically call from their own code; the others through
// libcudart.
bool IsPrivate(const Call& call) {
  const void* author = AuthorOf(call.caller, call.cfa);
  auto address = reinterpret_cast<uint64_t>(author);
  NoteModulesFor(*call.thread, &address, 1);
  return IsPrivateLibrary(author);
}

CUresult MemAlloc(Call& call, CUdeviceptr* address, size_t bytes) {
  Site site(call);
  CUresult result = call.Forward(address, bytes);
  return Allocated(call, site, kDevice, address ? *address : 0, bytes, result);
}

CUresult MemAllocPitch(Call& call, CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                       unsigned element) {
  Site site(call);
  CUresult result = call.Forward(address, pitch, width, height, element);
  size_t bytes = result == CUDA_SUCCESS ? *pitch * height : width * height;
  return Allocated(call, site, kDevice, address ? *address : 0, bytes, result);
}

CUresult MemAllocManaged(Call& call, CUdeviceptr* address, size_t bytes, unsigned flags) {
  Site site(call);
  CUresult result = call.Forward(address, bytes, flags);
  return Allocated(call, site, kManaged, address ? *address : 0, bytes, result);
}

namespace {

// Both pointers may be null; what is recorded needs both. A name that is not there is no failure
// worth a record: programs ask.
template <class From>
CUresult Variable(Call& call, MemoryKind kind, CUdeviceptr* address, size_t* bytes, From from,
                  const char* name) {
  Site site(call);
  CUdeviceptr own_address = 0;
  size_t own_bytes = 0;
  CUdeviceptr* const to = address != nullptr ? address : &own_address;
  size_t* const size = bytes != nullptr ? bytes : &own_bytes;
  const CUresult result = call.Forward(to, size, from, name);
  if (result != CUDA_SUCCESS) return result;
  return Allocated(call, site, kind, *to, *size, result);
}

}  // namespace

CUresult LibraryGetGlobal(Call& call, CUdeviceptr* address, size_t* bytes, CUlibrary library,
                          const char* name) {
  return Variable(call, kVariable, address, bytes, library, name);
}

CUresult LibraryGetManaged(Call& call, CUdeviceptr* address, size_t* bytes, CUlibrary library,
                           const char* name) {
  return Variable(call, kManagedVariable, address, bytes, library, name);
}

CUresult ModuleGetGlobal(Call& call, CUdeviceptr* address, size_t* bytes, CUmodule module,
                         const char* name) {
  return Variable(call, kVariable, address, bytes, module, name);
}

CUresult MemAllocHost(Call& call, void** address, size_t bytes) {
  Site site(call);
  CUresult result = call.Forward(address, bytes);
  return Allocated(call, site, kPinned, address ? Address(*address) : 0, bytes, result);
}

CUresult MemHostAlloc(Call& call, void** address, size_t bytes, unsigned flags) {
  Site site(call);
  CUresult result = call.Forward(address, bytes, flags);
  return Allocated(call, site, kPinned, address ? Address(*address) : 0, bytes, result);
}

CUresult MemHostRegister(Call& call, void* address, size_t bytes, unsigned flags) {
  Site site(call);
  CUresult result = call.Forward(address, bytes, flags);
  return Allocated(call, site, kRegistered, Address(address), bytes, result);
}

CUresult MemFree(Call& call, CUdeviceptr address) { return Freed(call, kDevice, address); }
CUresult MemFreeHost(Call& call, void* address) { return Freed(call, kPinned, address); }
CUresult MemHostUnregister(Call& call, void* address) { return Freed(call, kRegistered, address); }

CUresult MemAllocAsync(Call& call, CUdeviceptr* address, size_t bytes, CUstream stream) {
  return AllocateAsync(call, stream, nullptr, address, bytes, stream);
}

CUresult MemAllocFromPoolAsync(Call& call, CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                               CUstream stream) {
  return AllocateAsync(call, stream, pool, address, bytes, pool, stream);
}

CUresult MemFreeAsync(Call& call, CUdeviceptr address, CUstream stream) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(address, stream);
  call.Emit(trace::view::FreeAsync{.address = address,
                                   .stream = handle,
                                   .context = context,
                                   .result = result,
                                   .stack = stack,
                                   .graph_node = NodeOf(handle)});
  return result;
}

}  // namespace ss::capture
