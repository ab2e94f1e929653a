#include "src/capture/label.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

namespace ss::capture {
namespace {

// Labels lie between this and its double: files end long before.
constexpr uint64_t kFirst = uint64_t{1} << 61;
constexpr size_t kFabricBytes = 64;

uint64_t MakeLabel(uint64_t bits) { return kFirst | (bits & (kFirst - 1)); }

size_t ReadFile(const char* path, char* buffer, size_t capacity) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, buffer, capacity - 1);
  close(file);
  buffer[size > 0 ? size : 0] = 0;
  return size > 0 ? static_cast<size_t>(size) : 0;
}

// Processes of two machines may have the same fabric memory, and have no clock in common: they are
// not taken to know each other.
uint64_t FabricLabel(const void* bytes) {
  char machine[64];
  const size_t size = ReadFile("/proc/sys/kernel/random/boot_id", machine, sizeof machine);
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](const void* data, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
    }
  };
  add(bytes, kFabricBytes);
  add(machine, size);
  return MakeLabel(hash);
}

}  // namespace

uint64_t NewLabel() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    bits = static_cast<uint64_t>(getpid()) << 32 ^ static_cast<uint64_t>(now.tv_nsec);
  }
  return MakeLabel(bits);
}

uint64_t PutLabel(CUmemAllocationHandleType type, const void* shareable, uint64_t label) {
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) return FabricLabel(shareable);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return label;
  int file = -1;
  memcpy(&file, shareable, sizeof file);
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(label);
  lock.l_len = 1;
  const int before = errno;
  fcntl(file, F_OFD_SETLK, &lock);  // without it nobody knows the label, as if he had no trace
  errno = before;
  return label;
}

// "lock:	1: OFDLCK ADVISORY  READ -1 00:06:3 2305843009213693953 2305843009213693953"
uint64_t LabelOf(CUmemAllocationHandleType type, const void* shareable) {
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) return FabricLabel(shareable);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return 0;
  char path[64], info[2048];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d",
           static_cast<int>(reinterpret_cast<intptr_t>(shareable)));
  const int before = errno;
  ReadFile(path, info, sizeof info);
  errno = before;
  for (const char* at = info; (at = strstr(at, "OFDLCK")) != nullptr; ++at) {
    uint64_t begin = 0, end = 0;
    const int found = sscanf(at, "OFDLCK %*s %*s %*s %*s %lu %lu", &begin, &end);
    if (found == 2 && begin == end && begin >= kFirst && begin < 2 * kFirst) return begin;
  }
  return 0;
}

}  // namespace ss::capture
