#include "src/sanitizer/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ss::sanitizer {

using pipeline::ChunkHeader;
using pipeline::ChunkKind;
using pipeline::FileHeader;

LogFile::~LogFile() {
  if (file_ >= 0) close(file_);
}

bool LogFile::Open(const std::string& path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) return false;
  FileHeader header{};
  std::memcpy(header.magic, pipeline::kLogMagic, sizeof header.magic);
  header.version = pipeline::kLogVersion;
  header.record_bytes = sizeof(pipeline::LogRecord);
  header.pid = static_cast<uint64_t>(getpid());
  Write(&header, sizeof header);
  return !failed_;
}

void LogFile::Append(ChunkKind kind, const void* head, size_t head_bytes, const void* tail,
                     size_t tail_bytes) {
  const std::lock_guard lock(mutex_);
  const ChunkHeader header{static_cast<uint32_t>(kind),
                           static_cast<uint32_t>(head_bytes + tail_bytes)};
  const char padding[8] = {};
  Write(&header, sizeof header);
  Write(head, head_bytes);
  Write(tail, tail_bytes);
  Write(padding, -header.bytes & 7);
}

void LogFile::Write(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0 && !failed_) {
    const ssize_t done = write(file_, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      failed_ = true;
      return;
    }
    at += done;
    bytes -= static_cast<size_t>(done);
  }
}

}  // namespace ss::sanitizer
