#include "src/capture/own_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace ss::capture {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

bool ReadOwnMemory(const void* from, void* to, size_t bytes) {
  iovec local{to, bytes};
  iovec remote{const_cast<void*>(from), bytes};
  ssize_t got = syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0);
  if (got >= 0) return static_cast<size_t>(got) == bytes;
  if (errno != EPERM && errno != ENOSYS) return false;
  memcpy(to, from, bytes);
  return true;
}

bool OwnTextLength(const char* text, size_t limit, size_t* length) {
  char page[kPage];
  for (size_t at = 0; at < limit;) {
    size_t bytes =
        kPage - reinterpret_cast<uintptr_t>(text + at) % kPage;  // never into the next one
    if (!ReadOwnMemory(text + at, page, bytes)) return false;
    if (const void* end = memchr(page, 0, bytes)) {
      *length = at + static_cast<size_t>(static_cast<const char*>(end) - page);
      return *length < limit;
    }
    at += bytes;
  }
  return false;
}

}  // namespace ss::capture
