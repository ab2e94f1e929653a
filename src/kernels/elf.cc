#include "src/kernels/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

namespace ss::kernels {
namespace {

std::string At(const std::string& place, uint64_t offset) {
  return fmt::format("{}@byte {}", place, offset);
}

// The zero-terminated text at `offset` of a string table; "" when there is none.
std::string_view TextAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return "";
  std::string_view rest = table.substr(offset);
  size_t end = rest.find('\0');
  return end == rest.npos ? "" : rest.substr(0, end);
}

Result<std::vector<ElfSection>> ReadSections(std::string_view image, const Elf64_Ehdr& header,
                                             const std::string& place) {
  std::vector<ElfSection> sections;
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr raw;
    uint64_t offset = header.e_shoff + uint64_t(i) * sizeof raw;
    if (offset < header.e_shoff || !ReadAt(image, offset, &raw)) {
      return Fail(At(place, header.e_shoff),
                  fmt::format("section header {} lies outside the file", i),
                  "the file is truncated or damaged");
    }
    ElfSection section{"", raw.sh_type, raw.sh_flags, raw.sh_offset, "", raw.sh_link, raw.sh_info};
    bool takes_room = raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL;
    if (takes_room) {
      if (raw.sh_offset > image.size() || image.size() - raw.sh_offset < raw.sh_size) {
        return Fail(At(place, offset), fmt::format("section {} lies outside the file", i),
                    "the file is truncated or damaged");
      }
      section.data = image.substr(raw.sh_offset, raw.sh_size);
    }
    sections.push_back(section);
    names.push_back(raw.sh_name);
  }
  if (header.e_shstrndx < sections.size()) {
    std::string_view table = sections[header.e_shstrndx].data;
    for (size_t i = 0; i < sections.size(); ++i) sections[i].name = TextAt(table, names[i]);
  }
  return sections;
}

void ReadSymbols(Elf& elf) {
  const ElfSection* table = elf.Find(".symtab");
  if (!table) return;
  std::string_view names = table->link < elf.sections.size() ? elf.sections[table->link].data : "";
  Elf64_Sym raw;
  for (uint64_t at = 0; ReadAt(table->data, at, &raw); at += sizeof raw) {
    elf.symbols.push_back({TextAt(names, raw.st_name), uint8_t(ELF64_ST_TYPE(raw.st_info)),
                           raw.st_other, raw.st_shndx, raw.st_value, raw.st_size});
  }
}

}  // namespace

const ElfSection* Elf::Find(std::string_view name) const {
  auto found = std::find_if(sections.begin(), sections.end(),
                            [&](const ElfSection& section) { return section.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

Result<Elf> ReadElf(std::string_view image, const std::string& place) {
  Elf64_Ehdr header;
  if (!ReadAt(image, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Fail(At(place, 0), "not an ELF file", "give a cubin, or a program or library");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Fail(At(place, EI_CLASS), "not a 64-bit little-endian ELF file",
                "give one that was built for this machine");
  }
  if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) {
    return Fail(At(place, offsetof(Elf64_Ehdr, e_shentsize)), "section headers of an unknown size",
                "the file is damaged");
  }
  Elf elf;
  elf.machine = header.e_machine;
  elf.abi_version = header.e_ident[EI_ABIVERSION];
  elf.flags = header.e_flags;
  auto sections = ReadSections(image, header, place);
  if (!sections) return tl::unexpected(sections.error());
  elf.sections = std::move(*sections);
  elf.length = ElfLength(image);
  if (elf.length > image.size()) {
    return Fail(At(place, image.size()), fmt::format("the file ends before byte {}", elf.length),
                "the file is truncated");
  }
  ReadSymbols(elf);
  return elf;
}

uint64_t ElfLength(std::string_view image) {
  Elf64_Ehdr header;
  if (!ReadAt(image, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  uint64_t length = sizeof header;
  length = std::max(length, header.e_shoff + uint64_t(header.e_shnum) * sizeof(Elf64_Shdr));
  length = std::max(length, header.e_phoff + uint64_t(header.e_phnum) * sizeof(Elf64_Phdr));
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr raw;
    if (!ReadAt(image, header.e_shoff + uint64_t(i) * sizeof raw, &raw)) break;
    if (raw.sh_type != SHT_NOBITS) length = std::max(length, raw.sh_offset + raw.sh_size);
  }
  return length;
}

}  // namespace ss::kernels
