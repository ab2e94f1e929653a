// Append-only bytes behind a descriptor: a file, or memory (a memfd, so that readers, truncation
// and the flight recorder's compaction are the same code for both).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace ss::trace {

class TraceFile {
 public:
  static Result<TraceFile> Create(const std::string& path);
  static Result<TraceFile> InMemory();
  static Result<TraceFile> OpenForReading(const std::string& path);
  // A copy in memory; `name` stands for the path in messages.
  static Result<TraceFile> Copy(std::string_view bytes, const std::string& name);

  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&& other) noexcept;
  ~TraceFile();

  // All of it, or nothing: what a full disk cut off is cut off again, so that the file ends on a
  // whole block. A file size limit (RLIMIT_FSIZE) is an error like any other and not SIGXFSZ.
  Result<void> Append(std::string_view bytes);
  // Fewer bytes than asked for only at the end of the file.
  Result<std::string> ReadAt(uint64_t offset, size_t bytes) const;
  // Where something is stored, from `offset` on; size() when nothing is. What a sparse file leaves
  // out reads as zeros, and there can be more of it than anybody would wait for.
  uint64_t NextStored(uint64_t offset) const;
  // Puts `other`, written beside this one, in its place.
  Result<void> ReplaceBy(TraceFile other);
  // A new empty file that ReplaceBy can take: in the same folder, or in memory.
  Result<TraceFile> Sibling() const;
  void RemoveFromDisk();
  // The same bytes through a descriptor of its own, as they are now.
  Result<TraceFile> Share() const;

  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }  // "memory" for memory
  int descriptor() const { return fd_; }

 private:
  TraceFile(int fd, std::string path, bool in_memory, uint64_t size)
      : fd_(fd), path_(std::move(path)), in_memory_(in_memory), size_(size) {}

  int fd_;
  std::string path_;
  bool in_memory_;
  uint64_t size_;
};

}  // namespace ss::trace
