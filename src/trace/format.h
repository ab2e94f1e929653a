// The trace file: a header that describes the schema, then blocks that stand for themselves.
//
//   file    magic "SSTRACE\n", u32 major, u32 minor, u32 schema bytes, u32 CRC-32C, schema text
//   block   the header below (48 bytes), then `stored_bytes` of zstd (or plain, when equal to
//   raw_bytes)
//
// All little-endian. A block holds whole records of one thread. Its header has a sum of its own, so
// that a reader can index a file without unpacking it, and find the next block behind a damaged one
// by its magic. Limits: a block is at most kMaxBlock unpacked, the schema at most kMaxSchema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/trace/decode.h"

namespace ss::trace {

constexpr std::string_view kFileMagic = "SSTRACE\n";
constexpr size_t kFileHeaderBytes = 24;
constexpr uint32_t kBlockMagic = 0x4b425353;  // "SSBK"
constexpr size_t kBlockHeaderBytes = 48;
constexpr size_t kBlockTarget = 64 << 10;  // unpacked bytes at which a block is closed
constexpr size_t kMaxBlock = 160 << 10;    // target + the largest record, rounded up
constexpr size_t kMaxSchema = 1 << 20;

enum BlockFlags : uint32_t {
  kNoteBlock = 1,     // its content is one Note, no records
  kCarriedBlock = 2,  // state that evicted history left behind; the numbers are the original ones
};

struct BlockHeader {
  uint32_t flags = 0;
  uint32_t thread = 0;
  uint32_t records = 0;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint64_t min_seq = 0;  // of seq_before
  uint64_t max_seq = 0;
  uint32_t crc = 0;  // of the stored bytes
};

// What the writer has to say about the trace itself.
struct Note {
  enum Kind : uint32_t { kEnd = 1, kLost = 2, kEvicted = 3 };
  uint32_t kind = 0;
  uint64_t records = 0;  // end: in the whole trace; lost, evicted: since the trace began
  uint64_t last_seq = 0;
};

std::string PackBlockHeader(const BlockHeader& header);
// Nothing when the magic, the sum or a limit is wrong.
std::optional<BlockHeader> UnpackBlockHeader(ByteSpan bytes);
std::string PackBlock(BlockHeader header, std::string_view raw);
// `place` names file and byte for the error.
Result<std::string> UnpackBlock(const BlockHeader& header, ByteSpan stored,
                                const std::string& place);
std::string PackNote(const Note& note);
std::optional<Note> UnpackNote(std::string_view raw);

// The schema as text, a line a record: `41 Launch U64:function U64:stream ...`.
struct FieldSchema {
  std::string type, name;
};
struct RecordSchema {
  std::string name;
  std::vector<FieldSchema> fields;
};
using Schema = std::map<uint32_t, RecordSchema>;
std::string SchemaText();
Schema ParseSchema(std::string_view text);  // skips what it does not understand

// `schema`: what the file says of its records, this version's table unless it is a test's.
std::string PackFileHeader(const std::string& schema = SchemaText());
struct FileHeader {
  uint32_t major = 0, minor = 0;
  Schema schema;
  size_t bytes = 0;  // where the blocks begin
};
// Refuses another major version, naming both. `bytes` is the beginning of the file.
Result<FileHeader> UnpackFileHeader(ByteSpan bytes, const std::string& path);

}  // namespace ss::trace
