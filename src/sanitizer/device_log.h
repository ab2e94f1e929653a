// The log as the patches see it: in device memory, but for the records and the table of stuck
// warps, which are pinned host memory, so that the host can read them while a kernel hangs.
#pragma once

#include "src/pipeline/log_format.h"

namespace ss::sanitizer {

struct DeviceLog {
  unsigned long long next;       // position of the next record
  unsigned long long capacity;   // beyond it they are counted and lost
  pipeline::LogRecord* records;  // pinned
  pipeline::StuckWarp* stuck;    // pinned, [kStuckBlocks * kMaxWarps]
  pipeline::StuckWarp* failed;   // the same in device memory, so that a poll reads no host memory
  unsigned long long* lost;      // pinned: records that found no room, about
};

// One launch: what a patch gets as its user data.
struct LaunchSlot {
  DeviceLog* log;
  uint32_t launch;
  uint32_t blocks;         // watched at most
  uint32_t has_mbarriers;  // set by the first init: named barriers and exits before it are not kept
  uint32_t pad[3];
};
static_assert(sizeof(LaunchSlot) == 32);

constexpr uint32_t kLaunchSlots = 1 << 15;  // of launches that are watched, and as many of others

}  // namespace ss::sanitizer
