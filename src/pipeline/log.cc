#include "src/pipeline/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ss::pipeline {
namespace {

constexpr uint64_t kMaxThreads = 1024;
constexpr uint64_t kMaxClusterBlocks = 64;

template <class T>
T Load(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

uint64_t Product(const uint32_t (&dims)[3]) { return uint64_t{dims[0]} * dims[1] * dims[2]; }

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Recording> Read() {
    if (auto header = Header(); !header) return tl::unexpected(header.error());
    while (bytes_.size() - at_ >= sizeof(ChunkHeader)) {
      const auto header = Load<ChunkHeader>(bytes_.substr(at_));
      const size_t begin = at_ + sizeof header;
      if (header.bytes > bytes_.size() - begin) break;  // it ends here
      if (auto done = Chunk(header, bytes_.substr(begin, header.bytes)); !done)
        return tl::unexpected(done.error());
      at_ = std::min(bytes_.size(), begin + (size_t{header.bytes} + 7) / 8 * 8);
    }
    KeepUsed();
    return std::move(recording_);
  }

 private:
  Result<void> Header() {
    if (bytes_.size() < sizeof(FileHeader)) return Bad("found the end, expected a header");
    const auto header = Load<FileHeader>(bytes_);
    if (std::memcmp(header.magic, kLogMagic, sizeof header.magic) != 0)
      return Bad("this is no recording of `streamsan pipeline watch`");
    if (header.version != kLogVersion || header.record_bytes != sizeof(LogRecord)) {
      return Bad(fmt::format("found version {}, expected {}", header.version, kLogVersion));
    }
    recording_.pid = header.pid;
    at_ = sizeof header;
    return {};
  }

  Result<void> Chunk(const ChunkHeader& header, std::string_view bytes) {
    switch (static_cast<ChunkKind>(header.kind)) {
      case ChunkKind::kLaunch:
        return Launch(bytes);
      case ChunkKind::kRecords:
        return Records(bytes);
      case ChunkKind::kStuck:
        return Stuck(bytes);
      case ChunkKind::kEnd:
        if (bytes.size() != sizeof(EndChunk)) return Bad("the end has a size of its own");
        recording_.end = Load<EndChunk>(bytes);
        return {};
      case ChunkKind::kModule:
        if (bytes.size() < sizeof(uint64_t)) return Bad("a module without a number");
        recording_.cubins[Load<uint64_t>(bytes)] = bytes.substr(sizeof(uint64_t));
        return {};
    }
    return Bad(fmt::format("found a chunk of kind {}, expected 1 to 5", header.kind));
  }

  Result<void> Launch(std::string_view bytes) {
    if (bytes.size() < sizeof(LaunchChunk)) return Bad("a launch is cut short");
    RecordedLaunch launch;
    launch.about = Load<LaunchChunk>(bytes);
    launch.kernel = bytes.substr(sizeof(LaunchChunk));
    LaunchChunk& about = launch.about;
    for (uint32_t& n : about.cluster) n = std::max(n, 1U);
    if (Product(about.grid) == 0 || Product(about.block) == 0 ||
        Product(about.block) > kMaxThreads || Product(about.cluster) > kMaxClusterBlocks)
      return Bad("a launch of an impossible shape");
    ++recording_.launches_seen;
    // Numbers of launches that are not watched come round again: the last one has it.
    by_number_[about.launch] = recording_.launches.size();
    recording_.launches.push_back(std::move(launch));
    return {};
  }

  // The launch of a record or of a waiting warp; null: there is no such warp.
  template <class Entry>
  RecordedLaunch* LaunchOf(const Entry& entry) {
    const auto it = by_number_.find(entry.launch);
    if (it == by_number_.end()) return nullptr;
    RecordedLaunch& launch = recording_.launches[it->second];
    const bool there = entry.block < Product(launch.about.grid) && entry.warp < launch.Warps() &&
                       entry.lanes <= kMaxWarps;
    return there ? &launch : nullptr;
  }

  Result<void> Records(std::string_view bytes) {
    if (bytes.size() % sizeof(LogRecord)) return Bad("a record is cut short");
    for (; !bytes.empty(); bytes.remove_prefix(sizeof(LogRecord))) {
      const auto record = Load<LogRecord>(bytes);
      RecordedLaunch* launch = LaunchOf(record);
      if (!launch)
        return Bad(
            fmt::format("a record of launch {}: no such launch, block or warp", record.launch));
      launch->records.push_back(record);
    }
    return {};
  }

  Result<void> Stuck(std::string_view bytes) {
    if (bytes.size() % sizeof(StuckWarp)) return Bad("a table of waiting warps is cut short");
    for (; !bytes.empty(); bytes.remove_prefix(sizeof(StuckWarp))) {
      const auto warp = Load<StuckWarp>(bytes);
      if (!LaunchOf(warp))
        return Bad(
            fmt::format("a waiting warp of launch {}: no such launch, block or warp", warp.launch));
      recording_.stuck.push_back(warp);
    }
    return {};
  }

  void KeepUsed() {
    std::vector<bool> used(recording_.launches.size());
    for (const StuckWarp& warp : recording_.stuck) {
      auto it = by_number_.find(warp.launch);
      if (it != by_number_.end()) used[it->second] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < used.size(); ++i) {
      RecordedLaunch& launch = recording_.launches[i];
      if (!used[i] && launch.records.empty()) continue;
      if (kept != i) recording_.launches[kept] = std::move(launch);
      ++kept;
    }
    recording_.launches.resize(kept);
  }

  tl::unexpected<Error> Bad(std::string message) const {
    return Fail(fmt::format("{}@byte {}", name_, at_), std::move(message), "record it anew");
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;
  std::map<uint32_t, size_t> by_number_;
  Recording recording_;
};

}  // namespace

uint32_t RecordedLaunch::ClusterBlocks() const {
  return static_cast<uint32_t>(Product(about.cluster));
}

uint32_t RecordedLaunch::Warps() const {
  return static_cast<uint32_t>((Product(about.block) + 31) / 32);
}

Result<Recording> ReadRecording(std::string_view bytes, const std::string& name) {
  return Reader(bytes, name).Read();
}

}  // namespace ss::pipeline
