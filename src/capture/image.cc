#include "src/capture/image.h"

#include <elf.h>
#include <string.h>

#include "src/capture/own_memory.h"
#include "src/trace/crc32c.h"

namespace ss::capture {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint16_t kMachineCuda = 190;
constexpr uint64_t kMaxImage = uint64_t{1} << 32;  // more is a damaged header
constexpr size_t kMaxPtx = size_t{256} << 20;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const char* fatbin;
  void* file_or_fatbins;  // of version 2: what `fatbin` was linked from
};

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // behind the header
};

ImageSpan Damaged() { return {.damaged = true}; }

ImageSpan Checked(ImageKind kind, const char* begin, uint64_t bytes) {
  if (bytes == 0 || bytes > kMaxImage) return Damaged();
  return {kind, false, begin, bytes};
}

// The least length that holds `count` things of `size` from `offset` on. Never wraps: a value that
// is too large stays too large.
void Reach(uint64_t* length, uint64_t offset, uint64_t bytes) {
  uint64_t end = offset > kMaxImage || bytes > kMaxImage ? kMaxImage + 1 : offset + bytes;
  if (end > *length) *length = end;
}

// Sections are read in bundles: a library's cubin can have tens of thousands.
bool ReachOfSections(const char* begin, const Elf64_Ehdr& header, uint64_t count,
                     uint64_t* length) {
  constexpr uint64_t kBundle = 32;
  Elf64_Shdr bundle[kBundle];
  for (uint64_t i = 0; i < count; i += kBundle) {
    uint64_t now = count - i < kBundle ? count - i : kBundle;
    const char* at = begin + header.e_shoff + i * sizeof(Elf64_Shdr);
    if (!ReadOwnMemory(at, bundle, now * sizeof(Elf64_Shdr))) return false;
    for (uint64_t k = 0; k < now; ++k) {
      bool takes_room = bundle[k].sh_type != SHT_NOBITS && bundle[k].sh_type != SHT_NULL;
      if (takes_room) Reach(length, bundle[k].sh_offset, bundle[k].sh_size);
    }
  }
  return true;
}

ImageSpan RecogniseElf(const char* begin) {
  Elf64_Ehdr header;
  if (!ReadOwn(begin, &header)) return Damaged();
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachineCuda) return {};
  uint64_t length = sizeof header;
  uint64_t sections = header.e_shnum;
  if (header.e_shoff > kMaxImage) return Damaged();
  if (header.e_shoff && sections == 0) {  // more than 16 bits hold: the first section's size says
    Elf64_Shdr first;
    if (!ReadOwn(begin + header.e_shoff, &first)) return Damaged();
    sections = first.sh_size;
  }
  Reach(&length, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (sections > kMaxImage / sizeof(Elf64_Shdr)) return Damaged();
  Reach(&length, header.e_shoff, sections * sizeof(Elf64_Shdr));
  if (!ReachOfSections(begin, header, sections, &length)) return Damaged();
  return Checked(ImageKind::kElf, begin, length);
}

ImageSpan RecogniseFatbin(const char* begin) {
  FatbinHeader header;
  if (!ReadOwn(begin, &header) || header.magic != kFatbinMagic) return Damaged();
  if (header.bytes > kMaxImage) return Damaged();
  return Checked(ImageKind::kFatbin, begin, header.header_bytes + header.bytes);
}

// Whitespace, comments and directives come first; a cubin has no NUL-free printable start.
bool LooksLikePtx(const char* head, size_t bytes) {
  size_t i = 0;
  while (i < bytes && (head[i] == ' ' || (head[i] >= '\t' && head[i] <= '\r'))) ++i;
  if (i == bytes || (head[i] != '.' && head[i] != '/')) return false;
  for (; i < bytes && head[i]; ++i) {
    auto byte = static_cast<unsigned char>(head[i]);
    if (byte < ' ' && (byte < '\t' || byte > '\r')) return false;
  }
  return true;
}

ImageSpan RecognisePtx(const char* text) {
  size_t length = 0;
  char head[256];
  if (!OwnTextLength(text, kMaxPtx, &length) || length == 0) return {};
  size_t bytes = length < sizeof head ? length : sizeof head;
  if (!ReadOwnMemory(text, head, bytes) || !LooksLikePtx(head, bytes)) return {};
  return Checked(ImageKind::kPtx, text, length);
}

}  // namespace

ImageSpan RecogniseImage(const void* pointer) {
  auto* begin = static_cast<const char*>(pointer);
  uint32_t magic = 0;
  if (!begin || !ReadOwn(begin, &magic)) return Damaged();
  if (memcmp(&magic, ELFMAG, SELFMAG) == 0) return RecogniseElf(begin);
  if (magic == kFatbinMagic) return RecogniseFatbin(begin);
  if (magic != kWrapperMagic) return RecognisePtx(begin);
  Wrapper wrapper;
  if (!ReadOwn(begin, &wrapper)) return Damaged();
  return RecogniseFatbin(wrapper.fatbin);
}

ImageKind KindOfFile(const char* head, uint64_t bytes) {
  uint32_t magic = 0;
  if (bytes < sizeof magic) return ImageKind::kUnknown;
  memcpy(&magic, head, sizeof magic);
  if (memcmp(head, ELFMAG, SELFMAG) == 0) return ImageKind::kElf;
  if (magic == kFatbinMagic) return ImageKind::kFatbin;
  return LooksLikePtx(head, bytes) ? ImageKind::kPtx : ImageKind::kUnknown;
}

bool ImageChecksum(const ImageSpan& image, uint64_t* checksum) {
  char part[kChecksumBytes];
  uint64_t size = image.bytes < sizeof part ? image.bytes : sizeof part;
  if (!ReadOwnMemory(image.begin, part, size)) return false;
  uint32_t crc = trace::Crc32c(part, size);
  if (!ReadOwnMemory(image.begin + image.bytes - size, part, size)) return false;
  *checksum = trace::Crc32c(part, size, crc);
  return true;
}

}  // namespace ss::capture
