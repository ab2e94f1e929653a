// Any bytes as a trace: no crash, no hang, bounded memory. Sums would stop nearly every mutation at
// the door, so the input is also taken as the content of a block with a right sum, of a note, and
// as the schema of a newer version with records of it (what is behind the first NUL).
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

void ReadAsBlock(std::string_view raw, const std::string& file_header) {
  if (raw.empty() || raw.size() > kMaxBlock) return;
  BlockHeader header{.thread = 1, .records = 1};
  std::string block = PackBlock(header, raw);
  header.flags = kNoteBlock;
  ReadTrace(file_header + block + block.substr(0, block.size() / 2) + block +
            PackBlock(header, raw));
}

void ReadAsNewer(const std::string& bytes) {
  const size_t schema = bytes.find('\0');
  if (schema == std::string::npos) return;
  ReadAsBlock(std::string_view(bytes).substr(schema + 1), PackFileHeader(bytes.substr(0, schema)));
}

}  // namespace
}  // namespace ss::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  ss::trace::ReadTrace(bytes);
  ss::trace::ReadTrace(ss::trace::PackFileHeader() + bytes);
  ss::trace::ReadAsBlock(bytes, ss::trace::PackFileHeader());
  ss::trace::ReadAsNewer(bytes);
  return 0;
}
