// Any bytes as a trace: no crash, no hang, bounded memory. Sums would stop nearly every mutation at
// the door, so the first byte says as what the others are taken: the file, its blocks behind a
// right header, the content of a block with a right sum, or the schema of a newer version and,
// behind the first NUL, such a content.
#include <cstdint>
#include <string>

#include "src/trace/dump.h"

namespace ss::trace {
namespace {

constexpr size_t kMaxWaiting = 1 << 14;

void ReadTrace(const std::string& bytes) {
  auto file = TraceFile::Copy(bytes, "fuzz");
  if (!file) return;
  auto reader = TraceReader::FromFile(std::move(*file), kMaxWaiting);
  if (!reader) return;
  uint64_t records = 0;
  for (auto next = reader->Next(); next && *next; next = reader->Next()) {
    DumpRecord(**next, &reader->header().schema);
    ++records;
  }
  if (records != reader->stats().records) __builtin_trap();
  reader->notes();
}

// The whole schema is read when the input is the file; a long one before each input would be most
// of what a run does.
std::string ShortFileHeader() {
  static const std::string header = PackFileHeader("64 NoteRelease U64:tag I64:score\n");
  return header;
}

// Twice, with a cut one between them, and as a note.
void ReadAsBlock(const std::string& file_header, std::string_view raw) {
  if (raw.empty() || raw.size() > kMaxBlock) return;
  BlockHeader header{.thread = 1, .records = 1};
  std::string block = PackBlock(header, raw);
  header.flags = kNoteBlock;
  ReadTrace(file_header + block + block.substr(0, block.size() / 2) + block +
            PackBlock(header, raw));
}

void ReadAsNewer(std::string_view bytes) {
  const size_t schema = bytes.find('\0');
  if (schema == bytes.npos) return;
  ReadAsBlock(PackFileHeader(std::string(bytes.substr(0, schema))), bytes.substr(schema + 1));
}

void Read(char as, std::string_view bytes) {
  switch (as) {
    case 'f':
      return ReadTrace(std::string(bytes));
    case 'b':
      return ReadTrace(ShortFileHeader().append(bytes));
    case 'n':
      return ReadAsNewer(bytes);
    default:
      return ReadAsBlock(ShortFileHeader(), bytes);
  }
}

}  // namespace
}  // namespace ss::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.empty()) ss::trace::Read(bytes[0], bytes.substr(1));
  return 0;
}
