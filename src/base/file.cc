#include "src/base/file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

namespace ss {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

tl::unexpected<Error> CannotRead(const std::string& path, int error) {
  const bool denied = error == EACCES || error == EPERM;
  return Fail(path, fmt::format("cannot be read: {}", std::strerror(error)),
              denied ? "its permissions forbid it" : "is its path right?");
}

tl::unexpected<Error> TooLarge(const std::string& path, uint64_t most) {
  return Fail(path, fmt::format("cannot be read: is larger than {} MiB", most >> 20),
              "is it the file that you meant? Recorded programs are read as .sst files");
}

}  // namespace

Result<std::string> ReadBytes(const std::string& path, uint64_t most) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return CannotRead(path, errno);
  if (S_ISDIR(status.st_mode)) return Fail(path, "cannot be read: is a directory", "name a file");
  if (!S_ISREG(status.st_mode)) {
    return Fail(path, "cannot be read: is not a regular file", "name a file on disk");
  }
  if (static_cast<uint64_t>(status.st_size) > most) return TooLarge(path, most);
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return CannotRead(path, errno);
  std::string text;
  char block[1 << 16];
  while (size_t bytes = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, bytes);
    if (text.size() > most) return TooLarge(path, most);  // it grows, or says no size (/proc)
  }
  if (std::ferror(file.get())) return CannotRead(path, errno);
  return text;
}

Result<std::string> ReadText(const std::string& path, uint64_t most) {
  Result<std::string> text = ReadBytes(path, most);
  if (text && text->compare(0, kByteOrderMark.size(), kByteOrderMark) == 0) {
    text->erase(0, kByteOrderMark.size());
  }
  return text;
}

}  // namespace ss
