// Kernel launches, and which words of their parameters may be addresses.
#include <string.h>

#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"
#include "src/capture/ranges.h"

namespace ss::capture {
namespace {

// The schema's `kind`.
constexpr uint64_t kCooperative = 1;
constexpr uint64_t kProgrammaticSerialization = 2;
constexpr uint64_t kInsideNcclCall = 4;
constexpr uint64_t kByNccl = 8;

// CUlaunchAttributeID by number: older headers lack some of the names.
constexpr int kAttributeCooperative = 2;
constexpr int kAttributeProgrammaticSerialization = 6;
constexpr int kAttributeProgrammaticEvent = 7;
constexpr int kAttributeLaunchCompletionEvent = 12;

class WordList {
 public:
  explicit WordList(uint64_t* pairs) : pairs_(pairs) {}

  // `data` holds the parameter bytes from `offset` on. Structs by value are scanned like everything
  // else: what they contain changes from launch to launch, so every launch is scanned.
  void Scan(const void* data, size_t offset, size_t size) {
    auto* bytes = static_cast<const char*>(data);
    for (size_t at = (offset + 7) & ~size_t{7}; at + sizeof(uint64_t) <= offset + size; at += 8) {
      uint64_t word;
      memcpy(&word, bytes + (at - offset), sizeof word);
      if (sieve_.Passes(word)) Add(at, word);
    }
  }

  trace::view::Words words() const { return {pairs_, size_}; }

 private:
  void Add(uint64_t offset, uint64_t word) {
    if (size_ == size_t{2} * kMaxWords) return CountGap(Gap::kManyParameters);
    pairs_[size_++] = offset;
    pairs_[size_++] = word;
  }

  Sieve sieve_;
  uint64_t* pairs_;
  size_t size_ = 0;
};

void ScanParameters(WordList& list, const FunctionInfo* info, void** params) {
  if (!info || !info->layout_known) return CountGap(Gap::kUnknownLayout);
  for (uint16_t i = 0; i < info->count; ++i) {
    const FunctionInfo::Parameter& parameter = info->parameters[i];
    if (params[i]) list.Scan(params[i], parameter.offset, parameter.size);
  }
}

// CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END
void ScanBuffer(WordList& list, void** extra) {
  const void* buffer = nullptr;
  size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[1]);
  }
  if (buffer) list.Scan(buffer, 0, size);
}

struct Launched {
  uint64_t function;
  uint64_t stream;
  uint64_t context;
  uint64_t stack;
  trace::view::Words words;
};

Launched Prepare(Call& call, CUfunction function, CUstream stream, void** params, void** extra) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  const FunctionInfo* info = TheFunction(*call.thread, function);
  uint64_t stack = call.Stack();
  WordList list(call.thread->words);
  if (params) {
    ScanParameters(list, info, params);
  } else if (extra) {
    ScanBuffer(list, extra);
  }
  return {reinterpret_cast<uint64_t>(function), handle, context, stack, list.words()};
}

CUresult Finish(Call& call, const Launched& launched, uint64_t kind, CUresult result,
                uint64_t start_event = 0) {
  if (call.thread->in_nccl) {
    kind |= kInsideNcclCall;
  } else if (InNccl(call.caller)) {
    kind |= kByNccl;
  }
  call.Emit(trace::view::Launch{.function = launched.function,
                                .stream = launched.stream,
                                .context = launched.context,
                                .kind = kind,
                                .words = launched.words,
                                .result = result,
                                .stack = launched.stack,
                                .graph_node = NodeOf(launched.stream),
                                .start_event = start_event});
  return result;
}

uint64_t KindOf(const CUlaunchConfig& config) {
  uint64_t kind = 0;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    int id = static_cast<int>(attribute.id);
    if (id == kAttributeCooperative && attribute.value.cooperative) kind |= kCooperative;
    if (id == kAttributeProgrammaticSerialization &&
        attribute.value.programmaticStreamSerializationAllowed) {
      kind |= kProgrammaticSerialization;
    }
  }
  return kind;
}

// The first two fields of both attributes' values are the event and its flags. A launch has at most
// one of either in practice; a second one is counted.
uint64_t StartEventOf(const CUlaunchConfig& config) {
  uint64_t event = 0;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    int id = static_cast<int>(config.attrs[i].id);
    if (id != kAttributeProgrammaticEvent && id != kAttributeLaunchCompletionEvent) continue;
    if (event) CountGap(Gap::kLaunchEvent);
    event = reinterpret_cast<uint64_t>(config.attrs[i].value.programmaticEvent.event);
  }
  return event;
}

}  // namespace

KernelWork PrepareKernel(Call& call, CUfunction function, void** params, void** extra) {
  const FunctionInfo* info = TheFunction(*call.thread, function);
  WordList list(call.thread->words);
  if (params) {
    ScanParameters(list, info, params);
  } else if (extra) {
    ScanBuffer(list, extra);
  }
  return {reinterpret_cast<uint64_t>(function), CurrentContext(*call.thread), call.Stack(),
          list.words()};
}

void EmitKernel(Call& call, const KernelWork& work, Target target) {
  call.Emit(trace::view::Launch{.function = work.function,
                                .context = work.context,
                                .words = work.words,
                                .stack = work.stack,
                                .graph_node = target.node,
                                .graph_exec = target.exec});
}

CUresult LaunchKernel(Call& call, CUfunction function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                      unsigned shared, CUstream stream, void** params, void** extra) {
  Launched launched = Prepare(call, function, stream, params, extra);
  CUresult result = call.Forward(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                 shared, stream, params, extra);
  return Finish(call, launched, 0, result);
}

CUresult LaunchKernelEx(Call& call, const CUlaunchConfig* config, CUfunction function,
                        void** params, void** extra) {
  if (!config) return call.Forward(config, function, params, extra);
  Launched launched = Prepare(call, function, config->hStream, params, extra);
  uint64_t kind = KindOf(*config);
  uint64_t event = StartEventOf(*config);
  CUresult result = call.Forward(config, function, params, extra);
  return Finish(call, launched, kind, result, event);
}

CUresult LaunchCooperative(Call& call, CUfunction function, unsigned grid_x, unsigned grid_y,
                           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared, CUstream stream, void** params) {
  Launched launched = Prepare(call, function, stream, params, nullptr);
  CUresult result = call.Forward(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                 shared, stream, params);
  return Finish(call, launched, kCooperative, result);
}

}  // namespace ss::capture
