#include "src/capture/mapped_file.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace ss::capture {
namespace {

struct Query {
  uint64_t begin;
  uint64_t end;
  FilePlace* place;
  bool found;
};

bool PathOf(const dl_phdr_info& image, FilePlace* place) {
  if (image.dlpi_name && *image.dlpi_name) return AbsolutePath(image.dlpi_name, place);
  ssize_t size = readlink("/proc/self/exe", place->path, sizeof place->path - 1);
  if (size <= 0) return false;
  place->path[size] = 0;
  return access(place->path, R_OK) == 0;  // "... (deleted)" is not: its bytes are copied
}

int Visit(dl_phdr_info* image, size_t, void* opaque) {
  auto* query = static_cast<Query*>(opaque);
  for (int i = 0; i < image->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = image->dlpi_phdr[i];
    uint64_t begin = image->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || part.p_flags & PF_W) continue;
    if (query->begin < begin || query->end > begin + part.p_filesz) continue;
    query->place->offset = query->begin - begin + part.p_offset;
    query->found = PathOf(*image, query->place);
    return 1;
  }
  return 0;
}

}  // namespace

bool FindFile(const void* begin, uint64_t bytes, FilePlace* place) {
  auto address = reinterpret_cast<uint64_t>(begin);
  Query query{address, address + bytes, place, false};
  dl_iterate_phdr(Visit, &query);
  return query.found;
}

bool AbsolutePath(const char* path, FilePlace* place) {
  static_assert(sizeof place->path >= PATH_MAX);
  return realpath(path, place->path) != nullptr;
}

}  // namespace ss::capture
