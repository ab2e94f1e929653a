// The file that a watched program leaves: chunks, appended by its own threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "src/pipeline/log_format.h"

namespace ss::sanitizer {

class LogFile {
 public:
  ~LogFile();
  bool Open(const std::string& path);
  // Both parts as one chunk. What cannot be written is lost for good: failed() says so.
  void Append(pipeline::ChunkKind kind, const void* head, size_t head_bytes, const void* tail,
              size_t tail_bytes);
  bool failed() const { return failed_; }

 private:
  void Write(const void* data, size_t bytes);

  std::mutex mutex_;
  int file_ = -1;
  bool failed_ = false;
};

}  // namespace ss::sanitizer
