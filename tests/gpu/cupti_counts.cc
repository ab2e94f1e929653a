// Counts driver calls by function with CUPTI's callbacks: the independent witness against which the
// capture library's own counts are held (compare_counts.py).
//
// CUDA_INJECTION64_PATH=<this library> makes the driver load it at the first cuInit; LD_PRELOAD
// together with CUPTI_COUNTS_EARLY=1 subscribes before that, so that cuInit is counted as well. The
// counts, lines "name count", go to the file that CUPTI_COUNTS_FILE names ("%p" in it = process
// id), at exit; else to stderr.
#include <cuda.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string>

namespace {

constexpr unsigned kMaxFunctions = 4096;
std::atomic<unsigned long> g_counts[kMaxFunctions];
std::atomic<const char*> g_names[kMaxFunctions];
std::atomic<unsigned long> g_beyond;
std::atomic<bool> g_started;
CUpti_SubscriberHandle g_subscriber;

void CUPTIAPI OnCall(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* opaque) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  auto* data = static_cast<const CUpti_CallbackData*>(opaque);
  if (data->callbackSite != CUPTI_API_ENTER) return;
  if (id >= kMaxFunctions) {
    g_beyond.fetch_add(1);
    return;
  }
  g_names[id].store(data->functionName, std::memory_order_relaxed);
  g_counts[id].fetch_add(1, std::memory_order_relaxed);
}

FILE* Output() {
  const char* pattern = getenv("CUPTI_COUNTS_FILE");
  if (!pattern) return stderr;
  std::string path = pattern;
  size_t at = path.find("%p");
  if (at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  FILE* file = fopen(path.c_str(), "w");
  if (file) return file;
  fprintf(stderr, "cupti_counts: cannot write %s\n", path.c_str());
  return stderr;
}

void Report() {
  FILE* out = Output();
  for (unsigned id = 0; id < kMaxFunctions; ++id) {
    const char* name = g_names[id].load();
    if (name) fprintf(out, "%s %lu\n", name, g_counts[id].load());
  }
  if (g_beyond.load()) fprintf(out, "# beyond %u: %lu\n", kMaxFunctions, g_beyond.load());
  if (out != stderr) fclose(out);
}

bool Say(const char* what, CUptiResult result) {
  const char* text = "?";
  cuptiGetResultString(result, &text);
  fprintf(stderr, "cupti_counts: %s: %s\n", what, text);
  return false;
}

bool Start() {
  if (g_started.exchange(true)) return true;
  CUptiResult result = cuptiSubscribe(&g_subscriber, OnCall, nullptr);
  if (result != CUPTI_SUCCESS) return Say("cuptiSubscribe", result);
  result = cuptiEnableDomain(1, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  if (result != CUPTI_SUCCESS) return Say("cuptiEnableDomain", result);
  atexit(Report);
  return true;
}

__attribute__((constructor)) void StartEarly() {
  const char* early = getenv("CUPTI_COUNTS_EARLY");
  if (early && !strcmp(early, "1")) Start();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  return Start() ? 1 : 0;
}
