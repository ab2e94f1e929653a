#include "src/kernels/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/base/file.h"
#include "src/kernels/json.h"

namespace ss::kernels {
namespace {

namespace fs = std::filesystem;

bool WriteWhole(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file.good();
}

}  // namespace

Cache Cache::Default() {
  if (const char* own = std::getenv("STREAMSAN_CACHE")) return Cache(own);
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    return Cache(std::string(xdg) + "/streamsan");
  }
  const char* home = std::getenv("HOME");
  return Cache(home && *home ? std::string(home) + "/.cache/streamsan" : "");
}

std::string Cache::PathOf(const std::string& hash) const {
  return fmt::format("{}/kernels-{}/{}/{}.json", directory_, kAnalyserVersion, hash.substr(0, 2),
                     hash);
}

std::optional<KernelSummary> Cache::Get(const std::string& hash, const std::string& name) {
  std::string path = PathOf(hash);
  std::error_code failed;
  if (directory_.empty() || !fs::exists(path, failed)) {
    ++stats_.misses;
    return std::nullopt;
  }
  Result<std::string> text = ReadBytes(path);  // somebody else's folder: it may hold anything
  Result<KernelSummary> summary = text ? Unpack(*text, path) : tl::unexpected(text.error());
  if (!summary || summary->hash != hash) {
    ++stats_.damaged;
    ++stats_.misses;
    return std::nullopt;
  }
  ++stats_.hits;
  summary->name = name;
  return std::move(*summary);
}

void Cache::Put(const KernelSummary& summary) {
  if (directory_.empty() || summary.hash.empty()) return;
  std::string path = PathOf(summary.hash);
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  static uint64_t serial = 0;
  std::string temporary =
      fmt::format("{}.{}.{}", path, getpid(), __atomic_fetch_add(&serial, 1, 5));
  bool good = !failed && WriteWhole(temporary, Pack(summary));
  if (good) fs::rename(temporary, path, failed);
  if (good && !failed) return;
  ++stats_.failed_writes;
  fs::remove(temporary, failed);
}

}  // namespace ss::kernels
