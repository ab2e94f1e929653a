#include "src/sanitizer/tool.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace ss::sanitizer {
namespace {

using pipeline::ChunkKind;
using pipeline::LogEnd;
using pipeline::LogRecord;
using pipeline::StuckWarp;

constexpr size_t kStuckEntries = size_t{pipeline::kStuckBlocks} * pipeline::kMaxWarps;
constexpr size_t kMaxCubin = 8 << 20;     // of one module kept for its SASS
constexpr size_t kMaxCubins = 256 << 20;  // of all
constexpr std::chrono::milliseconds kDrainEvery{20};

extern "C" const char ss_patches_begin[];

struct Patch {
  Sanitizer_InstructionId instruction;
  const char* function;
};
constexpr Patch kPatches[] = {
    {SANITIZER_INSTRUCTION_CUDA_BARRIER, "SsMbarrier"},
    {SANITIZER_INSTRUCTION_CUDA_BARRIER_ATTEMPT, "SsMbarrierTry"},
    {SANITIZER_INSTRUCTION_BARRIER, "SsBarEnter"},
    {SANITIZER_INSTRUCTION_BARRIER_RELEASE, "SsBarLeave"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_ARRIVE, "SsClusterArrive"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_WAIT, "SsClusterWait"},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "SsBulkCopy"},
    {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_SHARED, "SsBulkCopyShared"},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC_BARRIER, "SsAsyncArrive"},
    {SANITIZER_INSTRUCTION_ASYNC_STORE, "SsAsyncStore"},
    {SANITIZER_INSTRUCTION_ASYNC_REDUCTION, "SsAsyncReduction"},
    {SANITIZER_INSTRUCTION_BLOCK_EXIT, "SsExit"},
};

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string Text(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

bool Complete(const LogRecord& record) {
  const volatile LogRecord& seen = record;
  return seen.place >> 56 != 0 && seen.tag != 0;
}

}  // namespace

ToolOptions OptionsFromEnvironment() {
  ToolOptions options;
  options.folder = Text("STREAMSAN_PIPELINE_LOG");
  options.library = Text("STREAMSAN_SANITIZER_LIBRARY");
  options.log_mb = Number("STREAMSAN_PIPELINE_LOG_MB", options.log_mb);
  options.launches = static_cast<uint32_t>(Number("STREAMSAN_PIPELINE_LAUNCHES", options.launches));
  options.blocks = static_cast<uint32_t>(Number("STREAMSAN_PIPELINE_BLOCKS", options.blocks));
  options.hang_ms = Number("STREAMSAN_PIPELINE_HANG_MS", options.hang_ms);
  return options;
}

bool Tool::Start(std::string& problem) {
  if (!LoadApi(api_, options_.library.c_str(), problem)) return false;
  const std::string path = options_.folder + "/pipeline-" + std::to_string(getpid()) + ".sslog";
  if (!file_.Open(path)) {
    problem = path + " cannot be written";
    return false;
  }
  const auto callback = [](void* self, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id,
                           const void* data) {
    Tool& tool = *static_cast<Tool*>(self);
    if (domain == SANITIZER_CB_DOMAIN_RESOURCE && id == SANITIZER_CBID_RESOURCE_MODULE_LOADED) {
      tool.OnModule(*static_cast<const Sanitizer_ResourceModuleData*>(data));
    } else if (domain == SANITIZER_CB_DOMAIN_RESOURCE &&
               id == SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
      tool.OnContextEnd(static_cast<const Sanitizer_ResourceContextData*>(data)->context);
    } else if (domain == SANITIZER_CB_DOMAIN_LAUNCH && id == SANITIZER_CBID_LAUNCH_BEGIN) {
      tool.OnLaunch(*static_cast<const Sanitizer_LaunchData*>(data));
    } else if (domain == SANITIZER_CB_DOMAIN_GRAPHS && id == SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN) {
      tool.OnGraphLaunch();
    }
  };
  if (!Try(api_.sanitizerSubscribe(&subscriber_, callback, this), "sanitizerSubscribe")) {
    problem = "the Sanitizer API takes no subscriber: is another tool attached?";
    return false;
  }
  for (Sanitizer_CallbackDomain domain :
       {SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CB_DOMAIN_GRAPHS})
    Try(api_.sanitizerEnableDomain(1, subscriber_, domain), "sanitizerEnableDomain");
  std::thread([this] { Watch(); }).detach();
  return true;
}

// A complaint that repeats is printed once.
bool Tool::Try(SanitizerResult result, const char* what) {
  if (result == SANITIZER_SUCCESS) return true;
  const char* text = nullptr;
  api_.sanitizerGetResultString(result, &text);
  const std::string line = std::string(what) + ": " + (text ? text : "failed");
  if (complaints_.insert(line).second) std::fprintf(stderr, "streamsan: %s\n", line.c_str());
  return false;
}

void Tool::OnModule(const Sanitizer_ResourceModuleData& data) {
  const std::lock_guard lock(mutex_);
  Context& context = contexts_[data.context];
  if (!context.patched) {
    context.patched = true;
    if (!Try(api_.sanitizerAddPatches(ss_patches_begin, data.context), "sanitizerAddPatches"))
      return;
  }
  Module& module = modules_[data.module];
  if (data.pCubin && data.cubinSize <= kMaxCubin && kept_bytes_ + data.cubinSize <= kMaxCubins) {
    module.cubin.assign(data.pCubin, data.pCubin + data.cubinSize);
    kept_bytes_ += data.cubinSize;
  }
  for (const Patch& patch : kPatches)
    Try(api_.sanitizerPatchInstructions(patch.instruction, data.module, patch.function),
        patch.function);
  Try(api_.sanitizerPatchModule(data.module), "sanitizerPatchModule");
}

void Tool::OnLaunch(const Sanitizer_LaunchData& data) {
  const std::lock_guard lock(mutex_);
  Context& context = contexts_[data.context];
  if (!context.slots && !Prepare(context, data.context, data.hStream)) return;
  pipeline::LaunchChunk chunk{};
  ++launches_;
  const bool watched = watched_ < kLaunchSlots && launches_of_[data.function]++ < options_.launches;
  // Slots of launches that are watched, and of the others, are two halves of one table: what the
  // device needs to know of a launch is there since the context began.
  chunk.launch = watched ? watched_++ : kLaunchSlots + unwatched_++ % kLaunchSlots;
  chunk.blocks_watched = watched ? options_.blocks : 0;
  const uint32_t dims[3][3] = {{data.gridDim_x, data.gridDim_y, data.gridDim_z},
                               {data.blockDim_x, data.blockDim_y, data.blockDim_z},
                               {data.clusterDim_x, data.clusterDim_y, data.clusterDim_z}};
  std::copy_n(dims[0], 3, chunk.grid);
  std::copy_n(dims[1], 3, chunk.block);
  std::copy_n(dims[2], 3, chunk.cluster);
  chunk.module = reinterpret_cast<uint64_t>(data.module);
  api_.sanitizerGetFunctionPcAndSize(data.module, data.functionName, &chunk.pc, &chunk.code_bytes);
  file_.Append(ChunkKind::kLaunch, &chunk, sizeof chunk, data.functionName,
               std::strlen(data.functionName));
  Try(api_.sanitizerSetLaunchCallbackData(data.hLaunch, data.function, data.hStream,
                                          context.slots + chunk.launch),
      "sanitizerSetLaunchCallbackData");
  if (watched) KeepModule(chunk.module);
}

void Tool::KeepModule(uint64_t handle) {
  Module& module = modules_[reinterpret_cast<CUmodule>(handle)];
  if (module.written || module.cubin.empty()) return;
  module.written = true;
  file_.Append(ChunkKind::kModule, &handle, sizeof handle, module.cubin.data(),
               module.cubin.size());
}

bool Tool::Prepare(Context& context, CUcontext handle, Sanitizer_StreamHandle stream) {
  context.capacity = (options_.log_mb << 20) / sizeof(LogRecord);
  void *log = nullptr, *slots = nullptr, *failed = nullptr, *records = nullptr, *stuck = nullptr,
       *lost = nullptr;
  if (!Try(api_.sanitizerAlloc(handle, &log, sizeof(DeviceLog)), "sanitizerAlloc") ||
      !Try(api_.sanitizerAlloc(handle, &slots, 2 * kLaunchSlots * sizeof(LaunchSlot)),
           "sanitizerAlloc") ||
      !Try(api_.sanitizerAlloc(handle, &failed, kStuckEntries * sizeof(StuckWarp)),
           "sanitizerAlloc") ||
      !Try(api_.sanitizerAllocHost(handle, &records, options_.log_mb << 20),
           "sanitizerAllocHost") ||
      !Try(api_.sanitizerAllocHost(handle, &stuck, kStuckEntries * sizeof(StuckWarp)),
           "sanitizerAllocHost") ||
      !Try(api_.sanitizerAllocHost(handle, &lost, sizeof(unsigned long long)),
           "sanitizerAllocHost"))
    return false;
  context.device_log = static_cast<DeviceLog*>(log);
  context.slots = static_cast<LaunchSlot*>(slots);
  context.records = static_cast<LogRecord*>(records);
  context.stuck = static_cast<StuckWarp*>(stuck);
  context.lost = static_cast<unsigned long long*>(lost);
  std::memset(records, 0, options_.log_mb << 20);
  std::memset(stuck, 0, kStuckEntries * sizeof(StuckWarp));
  *context.lost = 0;
  const bool zeroed =
      Try(api_.sanitizerMemset(failed, 0, kStuckEntries * sizeof(StuckWarp), stream),
          "sanitizerMemset");
  DeviceLog device{0,
                   context.capacity,
                   context.records,
                   context.stuck,
                   static_cast<StuckWarp*>(failed),
                   context.lost};
  std::vector<LaunchSlot> table(2 * kLaunchSlots);
  for (uint32_t i = 0; i < table.size(); ++i)
    table[i] = {context.device_log, i, i < kLaunchSlots ? options_.blocks : 0, 0, {}};
  return zeroed &&
         Try(api_.sanitizerMemcpyHostToDeviceAsync(log, &device, sizeof device, stream),
             "sanitizerMemcpyHostToDeviceAsync") &&
         Try(api_.sanitizerMemcpyHostToDeviceAsync(slots, table.data(),
                                                   table.size() * sizeof(LaunchSlot), stream),
             "sanitizerMemcpyHostToDeviceAsync") &&
         Try(api_.sanitizerStreamSynchronize(stream), "sanitizerStreamSynchronize");
}

bool Tool::Drain(Context& context) {
  const uint64_t begin = context.drained;
  while (context.drained < context.capacity && Complete(context.records[context.drained]))
    ++context.drained;
  const uint64_t count = context.drained - begin;
  if (count)
    file_.Append(ChunkKind::kRecords, context.records + begin, count * sizeof(LogRecord), nullptr,
                 0);
  records_ += count;
  return count > 0;
}

// At the end: a record whose writer never got to store it must not hide those behind it.
void Tool::DrainBehindGaps(Context& context) {
  constexpr uint64_t kLookAhead = 4096;
  for (uint64_t ahead = 0; context.drained + ahead < context.capacity && ahead < kLookAhead;
       ++ahead) {
    if (!Complete(context.records[context.drained + ahead])) continue;
    context.drained += ahead;
    Drain(context);
    ahead = 0;
  }
}

std::vector<StuckWarp> Tool::Stuck(const Context& context) const {
  std::vector<StuckWarp> stuck;
  for (size_t i = 0; i < kStuckEntries; ++i) {
    if (Complete(context.stuck[i])) stuck.push_back(context.stuck[i]);
  }
  return stuck;
}

// Some warp waits where it waited at the last look.
bool Tool::StuckStayed(Context& context) {
  std::vector<StuckWarp> now = Stuck(context);
  const bool same =
      !now.empty() && now.size() == context.last_stuck.size() &&
      std::memcmp(now.data(), context.last_stuck.data(), now.size() * sizeof(StuckWarp)) == 0;
  context.last_stuck = std::move(now);
  return same;
}

void Tool::Watch() {
  auto moved = std::chrono::steady_clock::now();
  for (;;) {
    std::this_thread::sleep_for(kDrainEvery);
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    bool stays = false, news = false;
    for (auto& [handle, context] : contexts_) {
      if (!context.slots || context.ended) continue;
      news = Drain(context) || news;
      stays = StuckStayed(context) || stays;
    }
    const auto now = std::chrono::steady_clock::now();
    if (news || !stays) moved = now;
    const auto quiet = std::chrono::duration_cast<std::chrono::milliseconds>(now - moved).count();
    if (static_cast<uint64_t>(quiet) < options_.hang_ms) continue;
    End(LogEnd::kHang, static_cast<uint64_t>(quiet));
    // Seen by the command line, which prints its report and then ends this process.
    const std::string sign = options_.folder + "/pipeline-" + std::to_string(getpid()) + ".hung";
    if (FILE* file = std::fopen(sign.c_str(), "w")) std::fclose(file);
    return;
  }
}

void Tool::OnContextEnd(CUcontext handle) {
  const std::lock_guard lock(mutex_);
  auto it = contexts_.find(handle);
  if (it == contexts_.end() || !it->second.slots || it->second.ended || ended_) return;
  Drain(it->second);
  DrainBehindGaps(it->second);
  it->second.ended = true;
}

void Tool::Finish() {
  const std::lock_guard lock(mutex_);
  if (!ended_) End(LogEnd::kExit, 0);
}

void Tool::End(LogEnd how, uint64_t quiet_ms) {
  ended_ = true;
  pipeline::EndChunk end{how, 0, 0, 0, launches_, unwatched_, graphs_, quiet_ms};
  for (auto& [handle, context] : contexts_) {
    if (!context.slots || context.ended) continue;
    Drain(context);
    DrainBehindGaps(context);
    const std::vector<StuckWarp> stuck = Stuck(context);
    if (!stuck.empty())
      file_.Append(ChunkKind::kStuck, stuck.data(), stuck.size() * sizeof(StuckWarp), nullptr, 0);
    end.dropped += *static_cast<volatile unsigned long long*>(context.lost);
  }
  end.records = records_;
  file_.Append(ChunkKind::kEnd, &end, sizeof end, nullptr, 0);
}

}  // namespace ss::sanitizer
