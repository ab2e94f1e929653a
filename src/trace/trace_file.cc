#include "src/trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "src/trace/size_signal.h"

namespace ss::trace {
namespace {

const char* Remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, write elsewhere with -o, or bound the trace with max_trace_mb";
    case EFBIG:
      return "raise `ulimit -f`, or bound the trace with max_trace_mb";
    case ENOENT:
      return "create the folder first";
    case EACCES:
    case EROFS:
      return "choose a place that can be written with -o";
    default:
      return "";
  }
}

tl::unexpected<Error> SystemFailure(const std::string& path, const char* what, int error) {
  return Fail(path, fmt::format("cannot {}: {}", what, strerror(error)), Remedy(error));
}

bool WriteAll(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

}  // namespace

Result<TraceFile> TraceFile::Create(const std::string& path) {
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return SystemFailure(path, "create the trace", errno);
  return TraceFile(fd, path, false, 0);
}

Result<TraceFile> TraceFile::InMemory() {
  int fd = memfd_create("streamsan-trace", MFD_CLOEXEC);
  if (fd < 0) return SystemFailure("memory", "create the trace", errno);
  return TraceFile(fd, "memory", true, 0);
}

Result<TraceFile> TraceFile::OpenForReading(const std::string& path) {
  int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not wait for a FIFO's writer
  if (fd < 0) {
    const bool denied = errno == EACCES || errno == EPERM;
    return Fail(path, fmt::format("cannot open the trace: {}", strerror(errno)),
                denied ? "its permissions forbid it" : "is its path right?");
  }
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    return TraceFile(fd, path, false, static_cast<uint64_t>(status.st_size));
  }
  close(fd);
  return Fail(path, "not a regular file", "name a trace; a folder's traces are its *.sst files");
}

Result<TraceFile> TraceFile::Copy(std::string_view bytes, const std::string& name) {
  auto file = InMemory();
  if (!file) return file;
  if (auto done = file->Append(bytes); !done) return tl::unexpected(done.error());
  file->path_ = name;
  return file;
}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      in_memory_(other.in_memory_),
      size_(other.size_) {}

TraceFile& TraceFile::operator=(TraceFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(in_memory_, other.in_memory_);
  std::swap(size_, other.size_);
  return *this;
}

TraceFile::~TraceFile() {
  if (fd_ >= 0) close(fd_);
}

Result<void> TraceFile::Append(std::string_view bytes) {
  NoSizeSignal guard;
  if (WriteAll(fd_, bytes, size_)) {
    size_ += bytes.size();
    return {};
  }
  int error = errno;
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
    // A device: there is nothing to cut.
  }
  return SystemFailure(path_, "write the trace", error);
}

Result<std::string> TraceFile::ReadAt(uint64_t offset, size_t bytes) const {
  uint64_t left = offset < size_ ? size_ - offset : 0;
  std::string out(std::min<uint64_t>(bytes, left), '\0');
  size_t got = 0;
  while (got < out.size()) {
    ssize_t n = pread(fd_, out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemFailure(path_, "read the trace", errno);
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  out.resize(got);
  return out;
}

uint64_t TraceFile::NextStored(uint64_t offset) const {
  const off_t at = lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return std::min(static_cast<uint64_t>(at), size_);
  return errno == ENXIO ? size_ : offset;  // a file system without holes
}

Result<TraceFile> TraceFile::Sibling() const {
  return in_memory_ ? InMemory() : Create(path_ + ".compacting");
}

Result<void> TraceFile::ReplaceBy(TraceFile other) {
  if (!in_memory_ && rename(other.path_.c_str(), path_.c_str()) != 0) {
    return SystemFailure(path_, "replace the trace", errno);
  }
  other.path_ = path_;
  *this = std::move(other);
  return {};
}

void TraceFile::RemoveFromDisk() {
  if (!in_memory_) unlink(path_.c_str());
}

Result<TraceFile> TraceFile::Share() const {
  int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return SystemFailure(path_, "open the trace", errno);
  return TraceFile(fd, path_, true, size_);
}

}  // namespace ss::trace
