// Summaries on disk, one file a kernel, under the hash of its machine code and the version of the
// analyser. Several processes may read and write at once: a file appears whole, by renaming, and
// two writers of the same key write the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/kernels/summary.h"

namespace ss::kernels {

struct CacheStats {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t damaged = 0;  // files that were there and not understood; they count as misses too
  uint64_t failed_writes = 0;
};

class Cache {
 public:
  // STREAMSAN_CACHE, else XDG_CACHE_HOME/streamsan, else HOME/.cache/streamsan; "" where there is
  // none: then nothing is found and nothing is kept.
  static Cache Default();
  explicit Cache(std::string directory) : directory_(std::move(directory)) {}

  // `name`: the kernel that is asked for. Code that is the same under two names has one entry.
  std::optional<KernelSummary> Get(const std::string& hash, const std::string& name);
  void Put(const KernelSummary& summary);

  const CacheStats& stats() const { return stats_; }
  const std::string& directory() const { return directory_; }

 private:
  std::string PathOf(const std::string& hash) const;

  std::string directory_;
  CacheStats stats_;
};

}  // namespace ss::kernels
