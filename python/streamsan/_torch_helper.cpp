// What only PyTorch's own C++ interface tells: what its caching allocators do, and which operator
// runs.
//
// Built by _build_helper.py against the PyTorch that is installed, loaded into the watched program
// once it imports torch. One translation unit, because PyTorch's headers take most of the time.
#include "_torch_helper.h"

#include <pthread.h>
#include <stdio.h>

#include <string>

#include "_torch_allocator.h"
#include "_torch_arguments.h"
#include "_torch_context.h"
#include "_torch_host_allocator.h"
#include "_torch_modules.h"
#include "_torch_unheard.h"

namespace {

void OnFork() {
  if (streamsan_context* context = streamsan_thread_context()) *context = {};
  streamsan_torch_forked = 1;
}

int Fail(char* message, size_t size, const char* text) {
  snprintf(message, size, "%s", text);
  return -1;
}

}  // namespace

extern "C" {

int streamsan_torch_forked = 0;
int streamsan_torch_places = 1;

[[gnu::visibility("default")]] int streamsan_torch_attach_allocator(char* message, size_t size) {
  try {
    CUDAAllocator* allocator = c10::cuda::CUDACachingAllocator::get();
    std::string name = allocator->name();
    if (name == "cudaMallocAsync") return 1;  // the driver's calls tell everything
    if (name != "native")
      return Fail(message, size, ("allocator " + name + " is not known").c_str());
    // Without the recorded streams, every block that relied on them would be a false finding.
    if (!Redirect(allocator)) return Fail(message, size, "record_stream cannot be observed");
    pthread_atfork(nullptr, nullptr, OnFork);
    allocator->attachAllocatorTraceTracker(OnTrace);
    return 0;
  } catch (const std::exception& error) {
    return Fail(message, size, error.what());
  }
}

[[gnu::visibility("default")]] int streamsan_torch_experiment(const char* name) {
  std::string word = name;
  if (word != "hold" && word != "poison") return -1;
  g_experiment = word == "hold" ? Experiment::kHold : Experiment::kPoison;
  return 0;
}

[[gnu::visibility("default")]] int streamsan_torch_attach_host_allocator(void) {
  try {
    return RedirectHost() ? 0 : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

[[gnu::visibility("default")]] void streamsan_torch_host_read(uint64_t base, uint64_t bytes) {
  if (streamsan_torch_forked || !g_pinned.any() || !g_pinned.Contains(base)) return;
  HereInPython here(This());
  streamsan_host_access(reinterpret_cast<void*>(base), bytes, STREAMSAN_READ);
  Count(&g_counts.host_accesses);
}

[[gnu::visibility("default")]] void streamsan_torch_attach_operators(void) {
  if (!g_forwards) g_forwards = new Forward[kForwards];
  g_lists.Attach();
  g_arguments.Attach();
  streamsan_torch_places = streamsan_wants_stacks();
  HearOperators();
  streamsan_watch_context(AtACall);
}

[[gnu::visibility("default")]] void streamsan_torch_pause(int on) {
  g_arguments.Pause(on != 0);
  PauseHearing(on != 0);
}

[[gnu::visibility("default")]] void streamsan_torch_add_module(const void* module,
                                                               const char* type) {
  g_modules.Add(module, type);
}

[[gnu::visibility("default")]] void streamsan_torch_set_parent(const void* module,
                                                               const void* parent,
                                                               const char* name) {
  g_modules.SetParent(module, parent, name);
}

[[gnu::visibility("default")]] void streamsan_torch_forget_module(const void* module) {
  g_modules.Forget(module);
}

uint64_t streamsan_torch_module_text(const void* module) {
  return module ? g_modules.Find(module) : 0;
}

[[gnu::visibility("default")]] void streamsan_torch_read_counts(streamsan_torch_counts* counts) {
  *counts = g_counts;
}

}  // extern "C"
