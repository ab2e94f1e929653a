// The environment variables of the virtual GPU. Each is read once, at the first call.
#pragma once

#include <cstdint>
#include <string>

namespace ss::vgpu {

struct Options {
  std::string policy = "eager";  // VGPU_SCHED      eager | lazy | random | pct
  uint64_t seed = 1;             // VGPU_SEED       of random and pct
  uint64_t devices = 2;          // VGPU_DEVICES    1-8
  uint64_t memory_mb = 4096;     // VGPU_MEMORY_MB  device memory of each device, 1-32768
  uint64_t slices = 4;  // VGPU_SLICES     a kernel, copy or memset runs in at most so many pieces
  uint64_t pct_depth = 3;  // VGPU_PCT_DEPTH  priority change points of pct
  uint64_t timeout_ms =
      30000;  // VGPU_TIMEOUT_MS a host wait without progress for so long is given up
  uint64_t patience_ms =
      1000;  // VGPU_PATIENCE_MS how long a call waits for code of the program that the device runs
  uint64_t idle_ms = 1000;  // VGPU_IDLE_MS    the device goes on by itself when the host makes no
                            // call for so long; 0 = never
  bool log = false;         // VGPU_LOG=1      every step to stderr
};

// Unreadable values are reported on stderr and replaced by the default.
const Options& options();

bool KnownPolicy(const std::string& name);

}  // namespace ss::vgpu
