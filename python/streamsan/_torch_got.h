// Leads the calls that one library makes to an exported function, its own or another's, through a
// function of the helper.
#ifndef STREAMSAN_TORCH_GOT_H_
#define STREAMSAN_TORCH_GOT_H_

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace {

struct Import {
  const void* within;  // any address of the library
  const char* symbol;
  void** slot;  // where its calls find the function; null: not there, or not to be written
};

struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  size_t count = 0;

  Dynamic(uintptr_t base, const ElfW(Phdr) & header) {
    for (auto* at = reinterpret_cast<const ElfW(Dyn)*>(base + header.p_vaddr); at->d_tag; ++at) {
      uintptr_t value = at->d_un.d_ptr;
      if (at->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(value);
      if (at->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(value);
      if (at->d_tag == DT_JMPREL) calls = reinterpret_cast<const ElfW(Rela)*>(value);
      if (at->d_tag == DT_PLTRELSZ) count = value / sizeof *calls;
    }
  }

  uintptr_t OffsetOf(const char* symbol) const {
    for (size_t i = 0; symbols && names && calls && i < count; ++i) {
      const ElfW(Sym)& of = symbols[ELF64_R_SYM(calls[i].r_info)];
      if (!strcmp(names + of.st_name, symbol)) return calls[i].r_offset;
    }
    return 0;
  }
};

bool Holds(uintptr_t base, const ElfW(Phdr) & header, uintptr_t address) {
  return address - (base + header.p_vaddr) < header.p_memsz;
}

int FindImport(dl_phdr_info* info, size_t, void* opaque) {
  auto* import = static_cast<Import*>(opaque);
  const ElfW(Phdr)* dynamic = nullptr;
  bool here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_DYNAMIC) dynamic = &header;
    here |= header.p_type == PT_LOAD &&
            Holds(info->dlpi_addr, header, reinterpret_cast<uintptr_t>(import->within));
  }
  if (!here || !dynamic) return here;
  uintptr_t slot = Dynamic(info->dlpi_addr, *dynamic).OffsetOf(import->symbol);
  if (slot == 0) return 1;
  slot += info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {  // bound at the start, and read-only since
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO && Holds(info->dlpi_addr, header, slot)) return 1;
  }
  import->slot = reinterpret_cast<void**>(slot);
  return 1;
}

// False: nothing is led.
bool LeadImport(const void* within, const char* symbol, void* here) {
  Import import{within, symbol, nullptr};
  dl_iterate_phdr(FindImport, &import);
  if (!import.slot) return false;
  __atomic_store_n(import.slot, here, __ATOMIC_RELEASE);
  return true;
}

}  // namespace
#endif  // STREAMSAN_TORCH_GOT_H_
