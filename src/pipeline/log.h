// A recording of what the warps of a program's kernels did with mbarriers
// (src/pipeline/log_format.h), read back. A file may end anywhere: the program was killed, or the
// disk was full.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/pipeline/log_format.h"

namespace ss::pipeline {

struct RecordedLaunch {
  LaunchChunk about{};
  std::string kernel;  // as the driver names it (mangled)
  std::vector<LogRecord> records;

  uint32_t ClusterBlocks() const;
  uint32_t Warps() const;  // of a block
};

struct Recording {
  uint64_t pid = 0;
  std::vector<RecordedLaunch> launches;    // those with records, or with a stuck warp
  std::map<uint64_t, std::string> cubins;  // by module
  std::vector<StuckWarp> stuck;
  std::optional<EndChunk> end;  // none: the program ended without saying so
  uint64_t launches_seen = 0;
};

// Errors name the byte: not such a file, another version, a chunk that ends beyond the file. A file
// that merely stops is no error.
Result<Recording> ReadRecording(std::string_view bytes, const std::string& name);

}  // namespace ss::pipeline
