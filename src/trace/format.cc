#include "src/trace/format.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "src/trace/crc32c.h"
#include "src/trace/encode.h"

namespace ss::trace {
namespace {

constexpr int kZstdLevel = 1;  // the drainer must keep up; 3 packs 5% better at half the speed

// One context a thread: making one costs more than packing a block.
struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, FreeContext>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, FreeContext>;

void AppendU32(std::string* out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}
void AppendU64(std::string* out, uint64_t value) {
  AppendU32(out, static_cast<uint32_t>(value));
  AppendU32(out, static_cast<uint32_t>(value >> 32));
}
uint32_t LoadU32(const uint8_t* at) {
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}
uint64_t LoadU64(const uint8_t* at) { return LoadU32(at) | uint64_t{LoadU32(at + 4)} << 32; }

bool Plausible(const BlockHeader& header) {
  return header.raw_bytes > 0 && header.raw_bytes <= kMaxBlock && header.stored_bytes > 0 &&
         header.stored_bytes <= header.raw_bytes && header.records <= header.raw_bytes;
}

uint32_t FileHeaderSum(ByteSpan fixed, ByteSpan schema) {
  return Crc32c(schema.data(), schema.size(), Crc32c(fixed.data(), 20));
}

}  // namespace

std::string PackBlockHeader(const BlockHeader& header) {
  std::string out;
  AppendU32(&out, kBlockMagic);
  AppendU32(&out, header.flags);
  AppendU32(&out, header.thread);
  AppendU32(&out, header.records);
  AppendU32(&out, header.raw_bytes);
  AppendU32(&out, header.stored_bytes);
  AppendU64(&out, header.min_seq);
  AppendU64(&out, header.max_seq);
  AppendU32(&out, header.crc);
  AppendU32(&out, Crc32c(out.data(), out.size()));
  return out;
}

std::optional<BlockHeader> UnpackBlockHeader(ByteSpan bytes) {
  if (bytes.size() < kBlockHeaderBytes) return std::nullopt;
  const uint8_t* at = bytes.data();
  if (LoadU32(at) != kBlockMagic || LoadU32(at + 44) != Crc32c(at, 44)) return std::nullopt;
  BlockHeader header{LoadU32(at + 4),  LoadU32(at + 8),  LoadU32(at + 12), LoadU32(at + 16),
                     LoadU32(at + 20), LoadU64(at + 24), LoadU64(at + 32), LoadU32(at + 40)};
  return Plausible(header) ? std::optional(header) : std::nullopt;
}

std::string PackBlock(BlockHeader header, std::string_view raw) {
  thread_local Compressor compressor(ZSTD_createCCtx());
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  size_t size = ZSTD_compressCCtx(compressor.get(), packed.data(), packed.size(), raw.data(),
                                  raw.size(), kZstdLevel);
  if (ZSTD_isError(size) || size >= raw.size()) {
    packed = raw;
  } else {
    packed.resize(size);
  }
  header.raw_bytes = static_cast<uint32_t>(raw.size());
  header.stored_bytes = static_cast<uint32_t>(packed.size());
  header.crc = Crc32c(packed.data(), packed.size());
  return PackBlockHeader(header) + packed;
}

Result<std::string> UnpackBlock(const BlockHeader& header, ByteSpan stored,
                                const std::string& place) {
  if (!Plausible(header) || stored.size() != header.stored_bytes ||
      Crc32c(stored.data(), stored.size()) != header.crc) {
    return Fail(place, "the block's checksum does not match");
  }
  if (header.stored_bytes == header.raw_bytes) return std::string(stored.begin(), stored.end());
  std::string raw(header.raw_bytes, '\0');
  thread_local Decompressor decompressor(ZSTD_createDCtx());
  size_t size =
      ZSTD_decompressDCtx(decompressor.get(), raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != raw.size()) return Fail(place, "the block does not unpack");
  return raw;
}

std::string PackNote(const Note& note) {
  uint8_t buffer[40];
  uint8_t* at = PutVarint(buffer, note.kind);
  at = PutVarint(at, note.records);
  at = PutVarint(at, note.last_seq);
  std::string raw(reinterpret_cast<char*>(buffer), static_cast<size_t>(at - buffer));
  return PackBlock({.flags = kNoteBlock, .min_seq = note.last_seq, .max_seq = note.last_seq}, raw);
}

std::optional<Note> UnpackNote(std::string_view raw) {
  FieldReader reader(ByteSpan(reinterpret_cast<const uint8_t*>(raw.data()), raw.size()));
  Note note;
  note.kind = static_cast<uint32_t>(reader.Varint());
  note.records = reader.Varint();
  note.last_seq = reader.Varint();
  return reader.bad() ? std::nullopt : std::optional(note);
}

std::string SchemaText() {
  std::string text;
#define RECORD(id, Name, doc) text += #id " " #Name;
#define FIELD(Type, name, doc) text += " " #Type ":" #name;
#define END_RECORD() text += '\n';
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
  return text;
}

namespace {

// Takes the text before the next `end` off `rest`, and `end` with it.
std::string_view TakeUntil(std::string_view* rest, char end) {
  std::string_view taken = rest->substr(0, rest->find(end));
  rest->remove_prefix(std::min(taken.size() + 1, rest->size()));
  return taken;
}

// Words stand one blank apart; a line that is written otherwise is not understood.
bool ParseRecordSchema(std::string_view line, uint32_t* id, RecordSchema* record) {
  std::string_view number = TakeUntil(&line, ' ');
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), *id);
  record->name = TakeUntil(&line, ' ');
  if (error != std::errc() || end != number.data() + number.size() || record->name.empty()) {
    return false;
  }
  record->fields.reserve(static_cast<size_t>(std::count(line.begin(), line.end(), ':')));
  while (!line.empty()) {
    std::string_view field = TakeUntil(&line, ' ');
    size_t colon = field.find(':');
    if (colon == field.npos) break;
    record->fields.push_back(
        {std::string(field.substr(0, colon)), std::string(field.substr(colon + 1))});
  }
  return true;
}

}  // namespace

Schema ParseSchema(std::string_view text) {
  Schema schema;
  while (!text.empty()) {
    uint32_t id = 0;
    RecordSchema record;
    if (ParseRecordSchema(TakeUntil(&text, '\n'), &id, &record)) schema[id] = std::move(record);
  }
  return schema;
}

std::string PackFileHeader(const std::string& schema) {
  std::string out(kFileMagic);
  AppendU32(&out, kMajor);
  AppendU32(&out, kMinor);
  AppendU32(&out, static_cast<uint32_t>(schema.size()));
  AppendU32(&out, Crc32c(schema.data(), schema.size(), Crc32c(out.data(), out.size())));
  return out + schema;
}

Result<FileHeader> UnpackFileHeader(ByteSpan bytes, const std::string& path) {
  if (bytes.size() < kFileMagic.size() ||
      memcmp(bytes.data(), kFileMagic.data(), kFileMagic.size()) != 0) {
    return Fail(path, "not a StreamSan trace",
                "record one with `streamsan record -o FILE -- PROGRAM`");
  }
  if (bytes.size() < kFileHeaderBytes)
    return Fail(path, "the trace ends inside its header", "record it again");
  FileHeader header;
  header.major = LoadU32(bytes.data() + 8);
  header.minor = LoadU32(bytes.data() + 12);
  if (header.major != kMajor) {
    return Fail(path,
                fmt::format("the trace has format {}.{}, this streamsan reads {}.x", header.major,
                            header.minor, kMajor),
                "use the streamsan that recorded it, or record it again");
  }
  uint32_t schema_bytes = LoadU32(bytes.data() + 16);
  if (schema_bytes > kMaxSchema)
    return Fail(path, "the trace's header is damaged", "record it again");
  header.bytes = kFileHeaderBytes + schema_bytes;
  if (bytes.size() < header.bytes)
    return Fail(path, "the trace ends inside its header", "record it again");
  ByteSpan schema = bytes.subspan(kFileHeaderBytes, schema_bytes);
  if (FileHeaderSum(bytes, schema) != LoadU32(bytes.data() + 20)) {
    return Fail(path, "the trace's header is damaged: its checksum does not match",
                "record it again");
  }
  header.schema =
      ParseSchema(std::string_view(reinterpret_cast<const char*>(schema.data()), schema.size()));
  return header;
}

}  // namespace ss::trace
