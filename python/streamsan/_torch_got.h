// Leads the calls that the loaded libraries make to an exported function through a function of the
// helper.
#ifndef STREAMSAN_TORCH_GOT_H_
#define STREAMSAN_TORCH_GOT_H_

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace {

struct Import {
  const char* symbol;
  void* here;          // where the calls go from now on
  const void* within;  // an address of the library that matters
  bool led = false;    // that one's calls are
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

// Null where the library makes no such call, or where it was bound at the start and is read-only
// since.
void** SlotOf(const dl_phdr_info& info, const char* symbol) {
  uintptr_t slot = 0;
  for (int i = 0; i < info.dlpi_phnum && slot == 0; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    slot = Dynamic(info.dlpi_addr, info.dlpi_phdr[i]).OffsetOf(symbol);
  }
  if (slot == 0) return nullptr;
  slot += info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO && Holds(info.dlpi_addr, header, slot)) return nullptr;
  }
  return reinterpret_cast<void**>(slot);
}

bool IsWithin(const dl_phdr_info& info, const void* address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    if (Holds(info.dlpi_addr, header, reinterpret_cast<uintptr_t>(address))) return true;
  }
  return false;
}

int LeadIn(dl_phdr_info* info, size_t, void* opaque) {
  auto* import = static_cast<Import*>(opaque);
  if (IsWithin(*info, import->here)) return 0;  // our own call to it
  void** slot = SlotOf(*info, import->symbol);
  if (!slot) return 0;
  __atomic_store_n(slot, import->here, __ATOMIC_RELEASE);
  import->led |= IsWithin(*info, import->within);
  return 0;
}

// False: not in the library that `within` lies in, which may then make such calls as before.
bool LeadImports(const char* symbol, void* here, const void* within) {
  Import import{symbol, here, within};
  dl_iterate_phdr(LeadIn, &import);
  return import.led;
}

}  // namespace
#endif  // STREAMSAN_TORCH_GOT_H_
