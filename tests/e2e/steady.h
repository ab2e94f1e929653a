// What `steady` tells its test, in a file that both map.
#pragma once

#include <atomic>
#include <cstdint>

namespace ss::e2e {

struct Progress {
  std::atomic<uint64_t> calls;  // memsets whose call has returned
  std::atomic<int32_t> pid;     // of the newest image
  std::atomic<uint32_t> ended;  // images that came to their orderly end
};

}  // namespace ss::e2e
