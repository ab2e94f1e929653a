#include "src/kernels/fatbin.h"

#include <fmt/format.h>
#include <zstd.h>

#include "src/kernels/elf.h"
#include "src/kernels/lz4.h"

namespace ss::kernels {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint16_t kVersion = 1;
constexpr uint16_t kHeaderBytes = 16;
constexpr uint64_t kLeastEntry = 64;
constexpr uint64_t kMaxUnpacked = uint64_t{1} << 31;  // what one entry may claim
constexpr uint16_t kKindPtx = 1;
constexpr uint16_t kKindElf = 2;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;

struct Header {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // behind the header
};

struct RawEntry {
  uint16_t kind = 0;
  uint32_t header_bytes = 0;
  uint64_t stored_bytes = 0;  // with padding
  uint32_t packed_bytes = 0;  // 0: not compressed
  uint32_t arch = 0;
  uint64_t flags = 0;
  uint64_t unpacked_bytes = 0;
};

bool ReadEntry(std::string_view file, uint64_t at, RawEntry* out) {
  return ReadAt(file, at, &out->kind) && ReadAt(file, at + 4, &out->header_bytes) &&
         ReadAt(file, at + 8, &out->stored_bytes) && ReadAt(file, at + 16, &out->packed_bytes) &&
         ReadAt(file, at + 28, &out->arch) && ReadAt(file, at + 40, &out->flags) &&
         ReadAt(file, at + 56, &out->unpacked_bytes);
}

// An error text, "" when it went well.
std::string Unzstd(std::string_view packed, uint64_t size, std::string& out) {
  out.resize(size);
  size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (!ZSTD_isError(got) && got == size) return "";
  out.clear();
  return fmt::format("zstd: {}", ZSTD_isError(got) ? ZSTD_getErrorName(got) : "too short");
}

std::string Unpack(const RawEntry& raw, std::string_view stored, FatbinEntry& entry) {
  entry.was_compressed = raw.packed_bytes != 0 && raw.flags & (kFlagLz4 | kFlagZstd);
  if (!entry.was_compressed) {
    entry.image = std::string(stored);
    return "";
  }
  if (raw.packed_bytes > stored.size()) return "more packed bytes than the entry has";
  // LZ4 cannot shrink by more than 255; zstd can, but not code.
  if (raw.unpacked_bytes > kMaxUnpacked || raw.unpacked_bytes / 4096 > stored.size()) {
    return fmt::format("claims {} bytes unpacked", raw.unpacked_bytes);
  }
  std::string_view packed = stored.substr(0, raw.packed_bytes);
  if (raw.flags & kFlagZstd) return Unzstd(packed, raw.unpacked_bytes, entry.image);
  return UnpackLz4(packed, raw.unpacked_bytes, &entry.image) ? "" : "damaged LZ4 data";
}

EntryKind KindOf(uint16_t kind) {
  if (kind == kKindElf) return EntryKind::kCubin;
  return kind == kKindPtx ? EntryKind::kPtx : EntryKind::kOther;
}

// Where a program or library keeps its containers; elsewhere the magic number is a coincidence.
bool HoldsContainers(std::string_view section) {
  return section == ".nv_fatbin" || section == "__nv_relfatbin";
}

bool HeaderAt(std::string_view file, uint64_t at, Header* header) {
  return ReadAt(file, at, header) && header->magic == kMagic && header->version == kVersion &&
         header->header_bytes == kHeaderBytes;
}

void ReadContainer(std::string_view file, uint64_t at, uint64_t end, const EntryFilter& wanted,
                   std::vector<FatbinEntry>& out) {
  while (end - at >= kLeastEntry) {
    RawEntry raw;
    FatbinEntry entry;
    entry.offset = at;
    bool fits = ReadEntry(file, at, &raw) && raw.header_bytes >= kLeastEntry &&
                raw.header_bytes <= end - at && raw.stored_bytes <= end - at - raw.header_bytes;
    if (!fits) {
      entry.error = "the entry runs out of its container";
      out.push_back(std::move(entry));
      return;
    }
    entry.kind = KindOf(raw.kind);
    entry.arch = static_cast<int>(raw.arch);
    entry.offset = at + raw.header_bytes;
    const bool readable = entry.kind != EntryKind::kOther;  // how others are packed is not known
    if (readable && (!wanted || wanted(entry.kind, entry.arch))) {
      entry.error = Unpack(raw, file.substr(entry.offset, raw.stored_bytes), entry);
    }
    out.push_back(std::move(entry));
    at += raw.header_bytes + raw.stored_bytes;
  }
}

// All containers between `at` and `end`; whether there was one.
bool ReadContainers(std::string_view file, uint64_t at, uint64_t end, const EntryFilter& wanted,
                    std::vector<FatbinEntry>& out) {
  const std::string_view magic("\x50\xed\x55\xba", 4);
  bool any = false;
  file = file.substr(0, end);
  for (at = file.find(magic, at); at != file.npos;) {
    Header header;
    uint64_t next = at + magic.size();
    if (HeaderAt(file, at, &header)) {
      any = true;
      uint64_t begin = at + kHeaderBytes;
      bool fits = header.bytes <= file.size() - begin;
      if (fits) {
        next = begin + header.bytes;
      } else {
        FatbinEntry entry;
        entry.offset = at;
        entry.error = "the container runs out of the file";
        out.push_back(std::move(entry));
      }
      ReadContainer(file, begin, fits ? begin + header.bytes : file.size(), wanted, out);
    }
    at = file.find(magic, next);
  }
  return any;
}

}  // namespace

bool IsFatbin(std::string_view image) {
  Header header;
  return HeaderAt(image, 0, &header);
}

uint64_t FatbinLength(std::string_view image) {
  Header header;
  return HeaderAt(image, 0, &header) ? kHeaderBytes + header.bytes : 0;
}

Result<std::vector<FatbinEntry>> ReadFatbins(std::string_view file, const std::string& place,
                                             const EntryFilter& wanted) {
  std::vector<FatbinEntry> entries;
  bool any = false;
  if (file.starts_with("\x7f"
                       "ELF")) {
    Result<Elf> elf = ReadElf(file, place);
    if (!elf) return tl::unexpected(elf.error());
    for (const ElfSection& section : elf->sections) {
      if (!HoldsContainers(section.name)) continue;
      any |= ReadContainers(file, section.offset, section.offset + section.data.size(), wanted,
                            entries);
    }
  } else {
    any = ReadContainers(file, 0, file.size(), wanted, entries);
  }
  if (any) return entries;
  return Fail(place, "no CUDA machine code in it",
              "give a cubin, a fat binary, or a program or library with CUDA code");
}

}  // namespace ss::kernels
