#include "src/capture/elf_lookup.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace ss::capture {
namespace {

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* hash = nullptr;      // DT_GNU_HASH
  const uint32_t* old_hash = nullptr;  // DT_HASH, where a linker wrote nothing else
  const ElfW(Half) * versions = nullptr;
};

struct Query {
  const char* library;  // null: images of any name, but for the one with `own`
  const char* symbol;
  void* found;
  const void* own = nullptr;
  bool passed_own = true;
};

// glibc relocates the pointers of most dynamic sections in place, not of the vDSO's.
template <class T>
const T* Pointer(const dl_phdr_info& image, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < image.dlpi_addr ? value + image.dlpi_addr : value);
}

Tables ReadDynamic(const dl_phdr_info& image, const ElfW(Dyn) * entry) {
  Tables tables;
  for (; entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = Pointer<ElfW(Sym)>(image, value);
    if (entry->d_tag == DT_STRTAB) tables.strings = Pointer<char>(image, value);
    if (entry->d_tag == DT_GNU_HASH) tables.hash = Pointer<uint32_t>(image, value);
    if (entry->d_tag == DT_HASH) tables.old_hash = Pointer<uint32_t>(image, value);
    if (entry->d_tag == DT_VERSYM) tables.versions = Pointer<ElfW(Half)>(image, value);
  }
  return tables;
}

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
  return hash;
}

bool Names(const Tables& tables, uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && strcmp(tables.strings + symbol.st_name, name) == 0;
}

bool IsDefaultVersion(const Tables& tables, uint32_t index) {
  constexpr ElfW(Half) kHiddenVersion = 0x8000;
  return !tables.versions || !(tables.versions[index] & kHiddenVersion);
}

// The table: nbuckets, first symbol, bloom words, bloom shift, bloom[], buckets[], chains[].
const ElfW(Sym) * Search(const Tables& tables, const char* name) {
  const uint32_t* hash = tables.hash;
  const uint32_t* buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chains = buckets + hash[0];
  uint32_t wanted = GnuHash(name);
  const ElfW(Sym)* hidden = nullptr;
  for (uint32_t index = buckets[wanted % hash[0]]; index >= hash[1]; ++index) {
    uint32_t chain = chains[index - hash[1]];
    if ((chain | 1) == (wanted | 1) && Names(tables, index, name)) {
      if (IsDefaultVersion(tables, index)) return tables.symbols + index;
      hidden = tables.symbols + index;
    }
    if (chain & 1) break;
  }
  return hidden;
}

// The old table says how many symbols there are (its second word); rare enough to be read through.
const ElfW(Sym) * SearchAll(const Tables& tables, const char* name) {
  for (uint32_t index = 1; index < tables.old_hash[1]; ++index) {
    if (Names(tables, index, name) && IsDefaultVersion(tables, index))
      return tables.symbols + index;
  }
  return nullptr;
}

const ElfW(Sym) * Lookup(const Tables& tables, const char* name) {
  if (!tables.symbols || !tables.strings) return nullptr;
  if (tables.hash && tables.hash[0]) return Search(tables, name);
  return tables.old_hash ? SearchAll(tables, name) : nullptr;
}

bool Matches(const char* path, const char* library) {
  const char* slash = path ? strrchr(path, '/') : nullptr;
  const char* file = slash ? slash + 1 : path;
  return file && strncmp(file, library, strlen(library)) == 0;
}

ImageSpan SpanOf(const dl_phdr_info& image) {
  ImageSpan span{UINTPTR_MAX, 0};
  for (int i = 0; i < image.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = image.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    uintptr_t begin = image.dlpi_addr + part.p_vaddr;
    if (begin < span.begin) span.begin = begin;
    if (begin + part.p_memsz > span.end) span.end = begin + part.p_memsz;
  }
  return span;
}

bool Holds(const dl_phdr_info& image, const void* address) {
  ImageSpan span = SpanOf(image);
  auto at = reinterpret_cast<uintptr_t>(address);
  return at >= span.begin && at < span.end;
}

bool IsWanted(const dl_phdr_info& image, Query* query) {
  if (query->library) return Matches(image.dlpi_name, query->library);
  bool own = Holds(image, query->own);
  bool wanted = query->passed_own && !own;
  query->passed_own |= own;
  return wanted;
}

void* FindIn(const dl_phdr_info& image, const char* name) {
  void* found = nullptr;
  for (int i = 0; i < image.dlpi_phnum; ++i) {
    if (image.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    auto* dynamic =
        reinterpret_cast<const ElfW(Dyn)*>(image.dlpi_addr + image.dlpi_phdr[i].p_vaddr);
    const ElfW(Sym)* symbol = Lookup(ReadDynamic(image, dynamic), name);
    if (symbol) found = reinterpret_cast<void*>(image.dlpi_addr + symbol->st_value);
  }
  return found;
}

int Visit(dl_phdr_info* image, size_t, void* opaque) {
  auto* query = static_cast<Query*>(opaque);
  if (IsWanted(*image, query)) query->found = FindIn(*image, query->symbol);
  return query->found != nullptr;
}

}  // namespace

void* FindInImage(const char* library, const char* symbol) {
  Query query{library, symbol, nullptr};
  dl_iterate_phdr(Visit, &query);
  return query.found;
}

void* FindBehind(const void* own, const char* symbol) {
  Query query{nullptr, symbol, nullptr, own, false};
  dl_iterate_phdr(Visit, &query);
  return query.found;
}

void* FindElsewhere(const void* own, const char* symbol) {
  Query query{nullptr, symbol, nullptr, own};
  dl_iterate_phdr(Visit, &query);
  return query.found;
}

void* FindInImageOf(const void* code, const char* symbol) {
  Query query{nullptr, symbol, nullptr, code};
  auto visit = [](dl_phdr_info* image, size_t, void* opaque) {
    auto* wanted = static_cast<Query*>(opaque);
    if (!Holds(*image, wanted->own)) return 0;
    wanted->found = FindIn(*image, wanted->symbol);
    return 1;
  };
  dl_iterate_phdr(visit, &query);
  return query.found;
}

int CountElsewhere(const void* own, const char* symbol) {
  struct Counting {
    Query query;
    int count = 0;
  } counting{{nullptr, symbol, nullptr, own}};
  auto visit = [](dl_phdr_info* image, size_t, void* opaque) {
    auto* counted = static_cast<Counting*>(opaque);
    counted->count += IsWanted(*image, &counted->query) && FindIn(*image, counted->query.symbol);
    return 0;
  };
  dl_iterate_phdr(visit, &counting);
  return counting.count;
}

ImageSpan SpanOfImage(const void* code, const char* library) {
  struct Search {
    const void* code;
    const char* library;
    ImageSpan span;
  } search{code, library, {}};
  auto visit = [](dl_phdr_info* image, size_t, void* opaque) {
    auto* wanted = static_cast<Search*>(opaque);
    if (!Holds(*image, wanted->code)) return 0;
    if (Matches(image->dlpi_name, wanted->library)) wanted->span = SpanOf(*image);
    return 1;
  };
  dl_iterate_phdr(visit, &search);
  return search.span;
}

}  // namespace ss::capture
