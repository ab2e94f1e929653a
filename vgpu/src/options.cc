#include "options.h"

#include <cstdio>
#include <cstdlib>

namespace ss::vgpu {

namespace {

void ReadNumber(const char* name, uint64_t least, uint64_t most, uint64_t* value) {
  const char* text = std::getenv(name);
  if (!text) return;
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  if (*text == '\0' || *text == '-' || *end != '\0' || number < least || number > most) {
    std::fprintf(stderr, "vgpu: %s=%s: expected a number from %llu to %llu; using %llu\n", name,
                 text, static_cast<unsigned long long>(least),
                 static_cast<unsigned long long>(most), static_cast<unsigned long long>(*value));
    return;
  }
  *value = number;
}

Options Read() {
  constexpr uint64_t kAny = UINT64_MAX;
  Options read;
  if (const char* policy = std::getenv("VGPU_SCHED")) {
    if (KnownPolicy(policy)) {
      read.policy = policy;
    } else {
      std::fprintf(stderr,
                   "vgpu: VGPU_SCHED=%s: expected eager, lazy, random or pct; using eager\n",
                   policy);
    }
  }
  ReadNumber("VGPU_SEED", 0, kAny, &read.seed);
  ReadNumber("VGPU_DEVICES", 1, 8, &read.devices);
  ReadNumber("VGPU_MEMORY_MB", 1, 32768, &read.memory_mb);
  ReadNumber("VGPU_SLICES", 1, 1024, &read.slices);
  ReadNumber("VGPU_PCT_DEPTH", 0, 64, &read.pct_depth);
  ReadNumber("VGPU_TIMEOUT_MS", 1, 3600000, &read.timeout_ms);
  ReadNumber("VGPU_PATIENCE_MS", 1, 60000, &read.patience_ms);
  ReadNumber("VGPU_IDLE_MS", 0, 3600000, &read.idle_ms);
  uint64_t log = 0;
  ReadNumber("VGPU_LOG", 0, 1, &log);
  read.log = log != 0;
  return read;
}

}  // namespace

bool KnownPolicy(const std::string& name) {
  return name == "eager" || name == "lazy" || name == "random" || name == "pct";
}

const Options& options() {
  static const Options& read = *new Options(Read());
  return read;
}

}  // namespace ss::vgpu
