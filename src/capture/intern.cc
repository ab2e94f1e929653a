#include "src/capture/intern.h"

#include <string.h>
#include <sys/mman.h>

#include "src/capture/driver.h"
#include "src/capture/image_table.h"
#include "src/capture/word_map.h"

namespace ss::capture {
namespace {

using trace::view::Bytes;

constexpr uint16_t kMaxParameters = 4096;
constexpr size_t kArenaBytes = size_t{64} << 20;  // reserved; used by what is touched

WordMap g_texts;      // hash -> id
WordMap g_functions;  // CUfunction -> FunctionInfo*
WordMap g_contexts;   // CUcontext -> CUdevice + 1
constexpr uint64_t kSeveral = ~uint64_t{0};
std::atomic<uint64_t> g_only_context{0};
WordMap g_streams;  // CUstream -> CUcontext
std::atomic<uint64_t> g_next_text{1};
std::atomic<uint32_t> g_generation{1};
std::atomic<size_t> g_arena_used;
char* g_arena;

uint64_t HashOf(const char* text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *text; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001b3;
  return hash ? hash : 1;
}

void* Take(size_t bytes) {
  bytes = (bytes + 15) & ~size_t{15};
  size_t at = g_arena_used.fetch_add(bytes, std::memory_order_relaxed);
  return g_arena && at + bytes <= kArenaBytes ? g_arena + at : nullptr;
}

using ParamInfo = CUresult (*)(CUfunction, size_t, size_t*, size_t*);

// A CUkernel may be launched in place of a CUfunction, and the driver has separate questions for
// it.
bool AskLayout(ParamInfo ask, CUfunction function, uint64_t* pairs, uint16_t* count) {
  if (!ask) return false;
  *count = 0;
  CUresult result = CUDA_SUCCESS;
  for (uint16_t i = 0; i < kMaxParameters; ++i) {
    size_t offset = 0;
    size_t size = 0;
    result = ask(function, i, &offset, &size);
    if (result != CUDA_SUCCESS) break;
    pairs[size_t{2} * i] = offset;
    pairs[size_t{2} * i + 1] = size;
    *count = static_cast<uint16_t>(i + 1);
  }
  return result == CUDA_ERROR_INVALID_VALUE;  // one past the last: anything else is no answer
}

struct Answer {
  const char* name = nullptr;
  uint64_t module = 0;
  bool layout_known = false;
  uint16_t count = 0;
};

// The handle that an ImageLoad names: the library of a CUkernel and of what was made of one, else
// the module. Libraries loaded behind the driver's public functions have no ImageLoad; their handle
// is given all the same.
uint64_t ModuleOf(CUfunction function, bool is_function) {
  const Driver& driver = TheDriver();
  if (uint64_t library = OwnerOf(reinterpret_cast<uint64_t>(function))) return library;
  CUmodule module = nullptr;
  if (driver.func_get_module) driver.func_get_module(&module, function);
  auto handle = reinterpret_cast<uint64_t>(module);
  if (is_function || IsLoaded(handle) || !driver.kernel_get_library) return handle;
  void* library = nullptr;
  bool found = driver.kernel_get_library(&library, function) == CUDA_SUCCESS;
  return found ? reinterpret_cast<uint64_t>(library) : handle;
}

Answer Ask(CUfunction function, uint64_t* pairs) {
  const Driver& driver = TheDriver();
  Answer answer;
  bool is_function =
      driver.func_get_name && driver.func_get_name(&answer.name, function) == CUDA_SUCCESS;
  if (!is_function && driver.kernel_get_name) driver.kernel_get_name(&answer.name, function);
  answer.layout_known = AskLayout(driver.func_get_param_info, function, pairs, &answer.count);
  if (!answer.layout_known) {
    answer.layout_known = AskLayout(driver.kernel_get_param_info, function, pairs, &answer.count);
  }
  answer.module = ModuleOf(function, is_function);
  return answer;
}

FunctionInfo* Room(FunctionInfo* old, uint16_t count) {
  if (old && old->capacity >= count) return old;
  uint16_t capacity = count < 4 ? 4 : count;
  auto* info = static_cast<FunctionInfo*>(
      Take(sizeof(FunctionInfo) + sizeof(FunctionInfo::Parameter) * capacity));
  if (info) info->capacity = capacity;
  return info;
}

const FunctionInfo* Learn(Thread& thread, CUfunction function, FunctionInfo* old,
                          uint32_t generation) {
  uint64_t* pairs = thread.words;
  Answer answer = Ask(function, pairs);
  FunctionInfo* info = Room(old, answer.count);
  if (!info) return nullptr;
  info->function = reinterpret_cast<uint64_t>(function);
  info->layout_known = answer.layout_known;
  info->count = answer.count;
  for (uint16_t i = 0; i < answer.count; ++i) {
    info->parameters[i] = {static_cast<uint32_t>(pairs[size_t{2} * i]),
                           static_cast<uint32_t>(pairs[size_t{2} * i + 1])};
  }
  uint64_t name = TextId(thread, answer.name ? answer.name : "?");
  Note(thread, trace::view::Function{.function = info->function,
                                     .text_id = name,
                                     .parameters = {pairs, size_t{2} * answer.count},
                                     .module = answer.module});
  info->generation.store(generation, std::memory_order_release);
  g_functions.Set(info->function, reinterpret_cast<uint64_t>(info));
  return info;
}

// 10 * major + minor, 0 = unknown.
uint64_t ArchOf(CUdevice device) {
  const Driver& driver = TheDriver();
  int major = 0;
  int minor = 0;
  if (!driver.device_get_attribute) return 0;
  driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * static_cast<uint64_t>(major) + static_cast<uint64_t>(minor);
}

}  // namespace

CUdevice DeviceOf(uint64_t context) {
  const Driver& driver = TheDriver();
  auto handle = reinterpret_cast<CUcontext>(context);
  CUcontext current = nullptr;
  CUdevice device = 0;
  if (driver.ctx_get_current) driver.ctx_get_current(&current);
  bool push = current != handle && driver.ctx_push_current && driver.ctx_pop_current;
  if (push && driver.ctx_push_current(handle) != CUDA_SUCCESS) return 0;
  if (driver.ctx_get_device) driver.ctx_get_device(&device);
  if (push) driver.ctx_pop_current(&current);
  return device;
}

uint64_t TextId(Thread& thread, const char* text) {
  uint64_t hash = HashOf(text);
  uint64_t id = g_texts.Get(hash);
  if (id) return id;
  id = g_next_text.fetch_add(1);
  // A full table only costs: the text goes out again under another id.
  if (!g_texts.Insert(hash, id) && g_texts.Get(hash)) return g_texts.Get(hash);
  Note(thread, trace::view::Text{.text_id = id, .text = Bytes(text)});
  return id;
}

const FunctionInfo* TheFunction(Thread& thread, CUfunction function) {
  auto* info =
      reinterpret_cast<FunctionInfo*>(g_functions.Get(reinterpret_cast<uint64_t>(function)));
  uint32_t generation = g_generation.load(std::memory_order_acquire);
  if (info && info->generation.load(std::memory_order_acquire) == generation) return info;
  return Learn(thread, function, info, generation);
}

void ForgetFunctions() { g_generation.fetch_add(1); }

void NoteContext(Thread& thread, uint64_t context, CUdevice device, uint64_t primary) {
  if (!g_contexts.Insert(context, static_cast<uint64_t>(device) + 1)) return;
  uint64_t none = 0;
  if (primary == 0 && !g_only_context.compare_exchange_strong(none, context))
    g_only_context.store(kSeveral);
  Note(thread, trace::view::ContextCreate{.context = context,
                                          .device = static_cast<uint64_t>(device),
                                          .arch = ArchOf(device),
                                          .primary = primary});
}

void SeenContext(Thread& thread, uint64_t context) {
  if (context == 0 || context == thread.last_context) return;
  if (g_contexts.Get(context) == 0) NoteContext(thread, context, DeviceOf(context));
  thread.last_context = context;
}

bool ForgetContext(Thread& thread, uint64_t context) {
  if (g_contexts.Get(context) == 0) return false;
  g_contexts.Set(context, 0);
  uint64_t only = context;
  g_only_context.compare_exchange_strong(only, 0);
  if (thread.last_context == context) thread.last_context = 0;
  return true;
}

uint64_t CurrentContext(Thread& thread) {
  CUcontext context = nullptr;
  const Driver& driver = TheDriver();
  if (driver.ctx_get_current) driver.ctx_get_current(&context);
  SeenContext(thread, reinterpret_cast<uint64_t>(context));
  return reinterpret_cast<uint64_t>(context);
}

uint64_t OnlyContext() {
  uint64_t only = g_only_context.load(std::memory_order_relaxed);
  return only == kSeveral ? 0 : only;
}

uint64_t ContextOf(Thread& thread, uint64_t stream) {
  constexpr uint64_t kLastSpecialStream = 2;
  if (stream <= kLastSpecialStream) return CurrentContext(thread);
  uint64_t context = g_streams.Get(stream);
  if (context == 0) {
    CUcontext asked = nullptr;
    const Driver& driver = TheDriver();
    if (!driver.stream_get_ctx ||
        driver.stream_get_ctx(reinterpret_cast<CUstream>(stream), &asked) != CUDA_SUCCESS) {
      return CurrentContext(thread);
    }
    context = reinterpret_cast<uint64_t>(asked);
    StreamBorn(stream, context);
  }
  SeenContext(thread, context);
  return context;
}

void StreamBorn(uint64_t stream, uint64_t context) { g_streams.Set(stream, context); }
void StreamGone(uint64_t stream) { g_streams.Set(stream, 0); }

bool InitInterning() {
  void* memory = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) g_arena = static_cast<char*>(memory);
  return g_arena && g_texts.Init(17) && g_functions.Init(16) && g_contexts.Init(10) &&
         g_streams.Init(16);
}

void ResetInterning() {
  g_only_context.store(0);
  g_texts.Clear();
  g_functions.Clear();
  g_contexts.Clear();
  g_streams.Clear();
  g_next_text.store(1);
  g_arena_used.store(0);
}

}  // namespace ss::capture
