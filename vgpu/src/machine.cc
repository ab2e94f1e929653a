#include "machine.h"

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "options.h"

namespace ss::vgpu {

namespace {

std::atomic<bool> forked{false};

}  // namespace

uint64_t ThreadNumber() {
  static std::atomic<uint64_t> next{0};
  thread_local const uint64_t number = ++next;
  return number;
}

bool Forked() { return forked.load(std::memory_order_relaxed); }

Machine& Machine::Get() {
  // Never destroyed: destructors of static objects of the program may still call the driver.
  static Machine& machine = *new Machine();
  return machine;
}

Machine::Machine() { Build(options().policy, options().seed); }

void Machine::Build(const std::string& policy, uint64_t seed) {
  const int devices = static_cast<int>(options().devices);
  policy_name_ = policy;
  policy_ = MakePolicy(policy, seed, options().pct_depth);
  memory = std::make_unique<Memory>(devices);
  primaries.assign(options().devices, nullptr);
  default_pools.clear();
  for (int i = 0; i < devices; ++i) {
    auto pool = std::make_unique<Pool>();
    pool->device = i;
    pool->is_default = true;
    default_pools.push_back(pools.Add(std::move(pool)));
  }
  current_pools = default_pools;
}

void Machine::Start() {
  auto lock = Lock();
  started_ = true;
  static std::once_flag once;
  std::call_once(once, [this] {
    pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
    std::atexit([] { Machine::Get().Close(); });
    std::thread([this] { Loop(); }).detach();
    std::thread([this] { HostFunctionLoop(); }).detach();
  });
}

void Machine::Close() {
  if (Forked() || OnDevice()) return;  // the lock may be another's for ever; waiting for oneself
  auto lock = Lock();
  closed_ = true;
  outside_ -= host_functions_.size();
  host_functions_.clear();
  changed_.notify_all();
  work_.notify_one();
  changed_.wait_for(lock, std::chrono::milliseconds(options().patience_ms),
                    [this] { return resting_ && outside_ == 0; });
}

bool Machine::Restart(const char* policy, uint64_t seed) {
  if (policy && !KnownPolicy(policy)) return false;
  auto lock = Lock();
  // Operations under way hold addresses of the old world: let them end; drop what has not begun.
  busy_.clear();
  host_functions_.clear();
  stepping_ = draining_ = false;
  changed_.wait(lock, [this] { return (resting_ || !started_) && outside_ == 0; });
  ++generation_;
  started_ = false;
  step_ = next_id_ = calls_ = polls_ = 0;
  forced_ = 0;
  contexts = {};
  events = {};
  modules = {};
  libraries = {};
  pools = {};
  graphs = {};
  executables = {};
  captures.clear();
  functions.clear();
  streams.clear();
  memory.reset();
  Build(policy ? policy : policy_name_, seed);
  return true;
}

Context* Machine::AddContext(int device, bool primary, unsigned flags) {
  auto made = std::make_unique<Context>();
  made->id = NewId();
  made->device = device;
  made->primary = primary;
  made->flags = flags;
  Context* context = contexts.Add(std::move(made));
  context->legacy = AddStream(context, StreamKind::kLegacy, 0);
  return context;
}

void Machine::RemoveContext(Context* context) {
  std::erase_if(streams, [&](const auto& entry) { return entry.second == context; });
  events.RemoveIf([&](const Event& event) { return event.context == context; });
  modules.RemoveIf([&](const Module& module) {
    if (module.context != context) return false;
    for (const auto& function : module.functions) functions.erase(function.get());
    return true;
  });
  std::vector<Block*> blocks;
  for (auto& [base, block] : memory->blocks()) {
    if (block.context == context && !block.pool) blocks.push_back(&block);
  }
  for (Block* block : blocks) memory->Release(block);
  for (const auto& [key, stream] : context->streams) busy_.erase(stream->id);
  contexts.Remove(context);
}

Stream* Machine::AddStream(Context* context, StreamKind kind, int priority) {
  auto made = std::make_unique<Stream>();
  made->id = NewId();
  made->context = context;
  made->kind = kind;
  made->priority = priority;
  Stream* stream = made.get();
  context->streams[stream] = std::move(made);
  if (kind == StreamKind::kBlocking || kind == StreamKind::kNonBlocking) streams[stream] = context;
  return stream;
}

void Machine::RemoveStream(Stream* stream) {
  streams.erase(stream);
  stream->destroyed = true;
  if (stream->queue.empty()) stream->context->streams.erase(stream);
}

// Gives a thread's own streams back when it ends; what is queued in them still runs.
struct ThreadEnd {
  ~ThreadEnd() {
    if (!Forked()) Machine::Get().EndThread(ThreadNumber());
  }
};

Stream* Machine::PerThread(Context* context) {
  thread_local ThreadEnd end;
  (void)end;
  Stream*& stream = context->per_thread[ThreadNumber()];
  if (!stream) {
    stream = AddStream(context, StreamKind::kPerThread, 0);
    stream->thread = ThreadNumber();
  }
  return stream;
}

void Machine::EndThread(uint64_t thread) {
  auto lock = Lock();
  contexts.Each([&](Context& context) {
    const auto own = context.per_thread.find(thread);
    if (own == context.per_thread.end()) return;
    RemoveStream(own->second);
    context.per_thread.erase(own);
  });
}

std::vector<OpPtr> Machine::Tails(const Context& context) const {
  std::vector<OpPtr> tails;
  auto add = [&](const Context& one) {
    for (const auto& [key, stream] : one.streams) {
      if (stream->tail && !stream->tail->done) tails.push_back(stream->tail);
    }
  };
  add(context);
  for (const Context* green : GreenOf(context)) add(*green);
  return tails;
}

std::vector<Context*> Machine::GreenOf(const Context& primary) const {
  std::vector<Context*> greens;
  contexts.Each([&](Context& context) {
    if (context.green_of == &primary) greens.push_back(&context);
  });
  return greens;
}

std::vector<OpPtr> Machine::DeviceTails(int device) const {
  std::vector<OpPtr> tails;
  for (const auto& [id, stream] : busy_) {
    if (stream->context->device == device) tails.push_back(stream->tail);
  }
  return tails;
}

}  // namespace ss::vgpu
